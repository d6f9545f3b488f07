"""The settings that all participants are asked about."""

from __future__ import annotations

POISSON = {"noise": 1.0, "rate": 0.01, "steps": 10_000, "delta": 1e-6}
PHASES = {
    "noises": [0.8 + 0.03 * i for i in range(50)],
    "rate": 0.01,
    "steps": 1_000,
    "delta": 1e-6,
}
SMALL_NOISE = {"noise": 0.05, "rate": 0.01, "steps": 1, "delta": 1e-6}
ALLOCATION = {"noise": 1.0, "out_of": 1_000, "delta": 1e-6}
BANDED = {"steps": 2_000, "bands": (16, 64)}
NOISE = {"steps": 2_000, "bands": 16, "parameters": 1_000_000, "rows": 20}
