"""The whole story on small real data: plan, noise, training, statement, audit; NumPy alone.

Usage: python examples/story.py [--small] [--output FOLDER]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import hockeystick as hs

EPSILON, DELTA = 4.0, 1e-5
TRAINING, BATCH, GROUPS, CANARIES = 1500, 75, 4, 300


def plans(steps: int) -> list[hs.Plan]:
    """Plain DP-SGD, and the same batches on average with correlated noise."""
    poisson = hs.Poisson.for_batch_size(BATCH, examples=TRAINING)
    cyclic = hs.CyclicPoisson.for_batch_size(BATCH, examples=TRAINING, groups=GROUPS)
    banded = hs.strategies.band_mf(steps, bands=GROUPS)
    return [
        hs.Plan(sampling=poisson, steps=steps),
        hs.Plan(sampling=cyclic, steps=steps, strategy=banded),
    ]


def error(plan: hs.Plan, noise_multiplier: float) -> float:
    """The root mean square of the noise in the iterates of SGD, in units of the clip norm."""
    return noise_multiplier * plan.strategy.mean_squared_error() ** 0.5


def main(*, small: bool, output: Path) -> None:
    """Tell it, with what each chapter took."""
    started = time.perf_counter()

    def chapter(title: str) -> None:
        print(f"\n[{time.perf_counter() - started:5.1f} s] {title}")

    images, labels = load_digits(return_X_y=True)
    images = np.hstack([images / 16 - 0.5, np.ones((len(images), 1))])
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order], labels[order]
    goal = np.eye(10)[labels]

    steps = 40 if small else 200
    chapter(f"PLAN   {TRAINING} images, batches of {BATCH}, {steps} steps, ε = {EPSILON:g}")
    plain, banded = plans(steps)

    chapter("NOISE  the least that is proven to be enough")
    noise = {}
    for name, plan in (("plain DP-SGD", plain), (f"{GROUPS} bands", banded)):
        noise[name] = hs.calibrate(plan, epsilon=EPSILON, delta=DELTA).noise_multiplier
        print(
            f"  {name:13} noise multiplier {noise[name]:.3f}, "
            f"error in the iterates {error(plan, noise[name]):.1f}"
        )

    chapter("TRAIN  logistic regression, with batches and noise from the plan")
    run = hs.training.PrivateRun(
        banded,
        examples=TRAINING,
        dimension=650,
        noise_multiplier=noise[f"{GROUPS} bands"],
        max_grad_norm=1.0,
        canaries=CANARIES,
    )
    weights, scores = np.zeros((65, 10)), []

    def gradients(batch: np.ndarray) -> np.ndarray:
        scale = np.exp(images[batch] @ weights)
        wrong = scale / scale.sum(axis=1, keepdims=True) - goal[batch]
        return (images[batch][:, :, None] * wrong[:, None, :]).reshape(len(batch), -1)

    for _ in range(steps):
        weights -= 2.0 * run.step(gradients).reshape(65, 10)
        right = (images[TRAINING:] @ weights).argmax(axis=1) == labels[TRAINING:]
        scores.append(float(right.mean()))
    print(f"  accuracy on {len(images) - TRAINING} other images: {scores[-1]:.1%}")

    chapter("STATE  what was done, for a model card")
    statement = run.statement(delta=DELTA)
    statement.save(output / "story.json")
    print(f"  {statement.paragraph()}")
    verdict = hs.training.check_statement(hs.training.load_statement(output / "story.json"))
    print(f"  computed again from the file: {'holds' if verdict.holds else 'DOES NOT HOLD'}")

    chapter(f"AUDIT  did it do so? {CANARIES} canaries say:")
    audit = run.audit()
    seen = audit.epsilon_lower(DELTA)
    print(f"  consistent with the plan: {audit.consistent} (p = {audit.p_value:.2g})")
    print(f"  ε as the canaries see it: {seen:.2f}; proven: {statement.epsilon:.2f}")

    plt.figure(figsize=(5, 3))
    plt.plot(range(1, steps + 1), scores)
    plt.xlabel("step")
    plt.ylabel("accuracy on other images")
    plt.title(f"ε = {statement.epsilon:.3g} proven, {seen:.3g} seen by canaries")
    plt.tight_layout()
    plt.savefig(output / "story.png", dpi=120)
    chapter(f"DONE   {output / 'story.json'}, {output / 'story.png'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="seconds instead of minutes")
    parser.add_argument("--output", type=Path, default=Path(), help="folder of the results")
    given = parser.parse_args()
    given.output.mkdir(parents=True, exist_ok=True)
    main(small=given.small, output=given.output)
