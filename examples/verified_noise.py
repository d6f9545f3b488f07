"""b-min-sep batches with noise that was verified by draws, against proven noise and plain DP-SGD.

Usage: python examples/verified_noise.py [--small] [--output FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import hockeystick as hs

EPSILON, DELTA = 2.0, 1e-5


def main(*, small: bool, output: Path) -> None:
    """Calibrate by draws, run with the verified guarantee, compare the errors."""
    examples, size, steps, bands = (400, 20, 20, 4) if small else (4000, 40, 600, 8)
    scheme = hs.MinSep.for_batch_size(size, examples=examples, separation=bands)
    plan = hs.Plan(sampling=scheme, steps=steps, strategy=hs.strategies.bsr(steps, bands=bands))
    proven = hs.calibrate(plan, epsilon=EPSILON, delta=DELTA)
    verified = hs.calibrate(plan, epsilon=EPSILON, delta=DELTA, method="monte-carlo")
    plain = hs.Plan(sampling=hs.Poisson.for_batch_size(size, examples=examples), steps=steps)
    baseline = hs.calibrate(plain, epsilon=EPSILON, delta=DELTA)

    rng = np.random.default_rng(0)
    points = rng.normal(size=(examples, 5))
    targets = points @ np.array([1.0, -2.0, 0.5, 0.0, 1.0]) + 0.1 * rng.normal(size=examples)
    fitted = hs.training.fit_linear(
        points,
        targets,
        plan=plan,
        noise_multiplier=verified.noise_multiplier,
        max_grad_norm=4.0,
        learning_rate=0.3,
    )
    # The claim was fixed and accepted before the run: the statement is about this claim.
    stated = fitted.statement(delta=DELTA, guarantee=verified.guarantee)
    stated.save(output / "verified_noise.json")
    print(stated)

    found = {
        "plain DP-SGD": (plain, baseline),
        "b-min-sep, proven": (plan, proven),
        "b-min-sep, verified": (plan, verified),
    }
    errors = [
        one.noise_multiplier * np.sqrt(some.strategy.mean_squared_error())
        for some, one in found.values()
    ]
    plt.figure(figsize=(6, 3))
    plt.barh(list(found), errors)
    plt.xlabel("root mean squared error of prefix sums / clip norm")
    plt.title(f"ε = {EPSILON:g}, δ = {DELTA:g}, {steps} steps")
    plt.tight_layout()
    plt.savefig(output / "verified_noise.png", dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--output", type=Path, default=Path())
    main(**vars(parser.parse_args()))
