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
# (noise, epsilon), 1 out of 1,000, remove direction.
DELTAS = {
    "out_of": 1_000,
    "asked": ((1.0, 0.1), (1.0, 0.25), (1.0, 0.5), (1.0, 1.0), (1.0, 2.0), (0.3, 10.0)),
}
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
GRAM_SMALL_DELTA = {**GRAM, "delta": 1e-10}
DRAWS = {
    "steps": 2_000,
    "bands": 16,
    "draws": 100_000,
    "many": 1_000_000,
    "epsilon": 2.0,
    "min sep": {"noise": 1.0, "rate": 0.01},
    "balls-in-bins": {"noise": 1.5, "bins": 100},
}
FINE = {"accuracy": 3e-4}
CALIBRATED = {"rate": 0.01, "steps": 2_000, "epsilon": 2.0, "delta": 1e-5}
BAND_TABLE = {"steps": 2_000, "bands": (2, 4, 8, 16, 32, 64)}
MANY_STEPS = {"steps": 100_000, "bands": 64}
CONDITIONAL = {"noise": 12.0, "bins": 100, "bands": 4, "epochs": 20, "delta": 1e-5}
THOUSAND_BINS = {"noise": 4.0, "bins": 1_000, "bands": 4, "epochs": 10, "delta": 1e-5}
# The CIFAR setting of the b-min-sep paper: 50,000 examples in batches of 500.
VERIFIED = {
    "steps": 2_000,
    "bands": 32,
    "batch": 500,
    "examples": 50_000,
    "epsilon": 8.0,
    "delta": 1e-5,
}
ADVANTAGE = {"rate": 0.01, "steps": 2_000, "noise": 1.2, "target": 0.1}
CLAIMS = {
    f"verify-{delta:g}": {"steps": 2_000, "bands": 16, "batch": 500, "examples": 50_000}
    | {"epsilon": 2.0, "delta": delta, "slack": 1.01}
    for delta in (1e-5, 1e-8)
}
FILTER_STEPS = {"epsilon": 2.0, "delta": 1e-5, "rate": 0.01, "noise": 1.0}
# Budgets a little above what the whole schedule needs.
LEVY = {
    "levy": {"delta": 1e-5, "epsilon": 1.25, "block": 150},
    "levy-small-delta": {"delta": 1e-8, "epsilon": 1.745, "block": 150},
    "levy-single-steps": {"delta": 1e-5, "epsilon": 1.31, "block": 1},
}
REQUESTS = {"requests": 100_000, "part": 10_000, "rate": 0.01, "noise": 1.0}
INDIVIDUAL = {"examples": 1_000_000, "rate": 0.01, "noise": 1.0}
TRAINING = {"repeats": 6}
SWEEPS = {
    "steps": {"noise": 1.0, "rate": 0.01, "delta": 1e-6},
    "block": {"noise": 1.0, "delta": 1e-6},
    "delta": {"noise": 1.0, "rate": 0.01, "steps": 10_000},
    "bins": {
        "noise": 2.0,
        "bands": 4,
        "epochs": 10,
        "epsilon": 0.25,
        "delta": 1e-5,
        "draws": 10_000,
    },
    "gram-bins": {"bands": 4, "delta": 1e-5},
    "noise-parameters": {"steps": 2_000, "bands": 16, "rows": 3},
    "bands": {"steps": 2_000},
    "noise-bands": {"steps": 2_000, "parameters": 1_000_000, "rows": 10},
    "draws": {"steps": 2_000, "bands": 16, "epsilon": 2.0, "noise": 1.0, "rate": 0.01},
}
