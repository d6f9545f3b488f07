"""Digits in JAX: a network in plain arrays, Optax, correlated noise on the device.

Usage: python examples/jax_digits.py [--small] [--output FOLDER]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import optax
from sklearn.datasets import load_digits

import hockeystick as hs

DELTA = 1e-5


def scores(params, picture):
    """Of the ten digits, for one picture."""
    hidden = jnp.tanh(picture @ params["hidden"]["weight"] + params["hidden"]["bias"])
    return hidden @ params["out"]["weight"] + params["out"]["bias"]


def loss(params, example):
    """Of one example: the run makes a batch of it."""
    picture, label = example
    return optax.softmax_cross_entropy_with_integer_labels(scores(params, picture), label)


def main(*, small: bool, output: Path) -> None:
    """Train, test, state, draw."""
    pictures, labels = load_digits(return_X_y=True)
    pictures, labels = (pictures / 16).astype(np.float32), labels.astype(np.int32)
    first, second = jax.random.split(jax.random.key(0))
    params = {
        "hidden": {"weight": jax.random.normal(first, (64, 64)) / 8, "bias": jnp.zeros(64)},
        "out": {"weight": jax.random.normal(second, (64, 10)) / 8, "bias": jnp.zeros(10)},
    }
    steps = 10 if small else 300
    plan = hs.Plan(
        sampling=hs.BallsInBins(bins=steps // 2 if small else 15),
        steps=steps,
        strategy=hs.strategies.bsr(steps, bands=4),
    )
    noise = hs.calibrate(plan, epsilon=8.0, delta=DELTA).noise_multiplier
    run = hs.jax.JaxRun(
        plan, loss, params, examples=1500, noise_multiplier=noise, max_grad_norm=1.0
    )
    optimizer = optax.sgd(0.5, momentum=0.9)
    state, accuracies = optimizer.init(params), []
    test = jax.jit(jax.vmap(scores, in_axes=(None, 0)))
    for batch in run.batches():
        gradient = run.gradient(params, (pictures[batch.indices], labels[batch.indices]))
        updates, state = optimizer.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        found = np.asarray(test(params, pictures[1500:])).argmax(axis=1)
        accuracies.append((found == labels[1500:]).mean())

    stated = run.statement(delta=DELTA, parameters=params)
    stated.save(output / "jax_digits.json")
    print(stated)
    plt.figure(figsize=(5, 3))
    plt.plot(accuracies)
    plt.xlabel("step")
    plt.ylabel("accuracy on 297 other digits")
    plt.title(f"JAX, ε = {stated.epsilon:.3g}, δ = {DELTA:g}")
    plt.tight_layout()
    plt.savefig(output / "jax_digits.png", dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--output", type=Path, default=Path())
    main(**vars(parser.parse_args()))
