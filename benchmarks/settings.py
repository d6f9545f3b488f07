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
RENYI = {"noise": 1.0, "out_of": 10_000, "largest": 60, "compared": 40}
MANY_ORDERS = {"noise": 1.0, "out_of": 1_000_000, "largest": 1_000}
PICKS = {"noise": 1.0, "out_of": 1_024, "delta": 1e-6, "picks": (1, 4, 16)}
FIVE_RUNS = {"noise": 1.0, "out_of": 10_000, "delta": 1e-8, "epochs": (1, 3, 10, 30, 100)}
BINS = {
    "noise": 1.0,
    "epochs": 3,
    "compared": {"bins": 50, "bands": 2, "largest": 16},
    "large": (
        {"bins": 100, "bands": 3, "largest": 32, "seconds": 10.0},
        {"bins": 300, "bands": 2, "largest": 64, "seconds": 10.0},
        {"bins": 1_000, "bands": 1, "largest": 1_000, "seconds": 1.0},
    ),
}
GRAM = {
    "noise": 4.0,
    "bins": 100,
    "bands": 4,
    "epochs": 10,
    "epsilon": 1.0,
    "delta": 1e-5,
    "accuracy": 2e-3,
}
DRAWS = {
    "steps": 2_000,
    "bands": 16,
    "draws": 100_000,
    "many": 1_000_000,
    "epsilon": 2.0,
    "min sep": {"noise": 1.0, "rate": 0.01},
    "balls-in-bins": {"noise": 1.5, "bins": 100},
}
