"""Three services that share one privacy budget through a ledger, each in a process of its own.

Usage: python examples/shared_ledger.py [--small] [--output FOLDER]
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import hockeystick as hs

DELTA, NAME = 1e-5, "people"
# Rate, noise multiplier and label of each service.
SERVICES = [(0.1, 2.0, "training"), (1.0, 20.0, "weekly report"), (0.3, 5.0, "search")]


def serve(service: Any, ledger: Path, output: Path, most: int, ready: Any) -> None:
    """Take noisy means until the budget that all services share is spent; state that."""
    rate, noise, label = service
    budget = hs.filters.join(ledger=ledger, name=NAME, label=label)
    data = np.random.default_rng(0).normal(size=(1000, 3))
    run = hs.training.PrivateRun(
        hs.Plan(sampling=hs.Poisson(rate=rate), steps=most),
        examples=1000,
        dimension=3,
        noise_multiplier=noise,
        max_grad_norm=1.0,
        filter=budget,
    )
    ready.wait()
    for _ in range(most):
        try:
            run.step(lambda batch: data[batch])
        except hs.errors.BudgetExceeded:
            break
        time.sleep(0.05)  # A service has other work, too.
    run.statement(delta=DELTA).save(statement_file(output, label))


def statement_file(output: Path, label: str) -> Path:
    """Where a service leaves its statement."""
    return output / f"shared_ledger_{label.replace(' ', '_')}.json"


def main(*, small: bool, output: Path) -> None:
    """Open the budget, start the services, read what they spent."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = Path(folder) / "spending.db"
        expected = [(rate, noise, 30) for rate, noise, _ in SERVICES]
        owner = hs.filters.Renyi(
            epsilon=2.0, delta=DELTA, expected=expected, ledger=ledger, name=NAME
        )
        context = multiprocessing.get_context("spawn")
        most, ready = 3 if small else 60, context.Barrier(len(SERVICES))
        started = [
            context.Process(target=serve, args=(service, ledger, output, most, ready))
            for service in SERVICES
        ]
        for one in started:
            one.start()
        for one in started:
            one.join()
        history = [entry for entry in owner.history if entry.status == "committed"]
        budget, guarantee = owner.spent + owner.remaining, owner.guarantee()

    for _, _, label in SERVICES:
        print(f"{label}: {hs.training.load_statement(statement_file(output, label))}")
    print(
        f"Everything that the three services released together is ({guarantee.epsilon(DELTA):.3g}, "
        f"{DELTA:g})-differentially private, {guarantee.kind}; {len(history)} steps were taken."
    )
    plt.figure(figsize=(5, 3))
    for _, _, label in SERVICES:
        own = [entry.charge if entry.request.get("label") == label else 0.0 for entry in history]
        plt.plot(np.cumsum(own) / budget, label=label)
    plt.xlabel("entry of the ledger")
    plt.ylabel("share of the budget")
    plt.legend()
    plt.tight_layout()
    plt.savefig(output / "shared_ledger.png", dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--output", type=Path, default=Path())
    main(**vars(parser.parse_args()))
