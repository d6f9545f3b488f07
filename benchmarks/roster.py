"""Who answers: a file of cases and sweeps each, and what it needs installed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Participant:
    """Somebody who answers cases and sweeps."""

    name: str
    file: str
    requirements: tuple[str, ...]
    repeats: int
    # The only Python that it runs on, if that is not ours.
    python: str = ""


# Its accountant needs NumPy alone, and asks for PyTorch with its CUDA libraries.
OPAKE = tuple(f"opake-{part}==0.16.1" for part in ("accounting", "base", "dpsgd"))
# This package as it stands here, beside what an environment of a peer needs.
ITSELF = "--editable={root}"
# It imports pandas without declaring it.
RANDOM_ALLOCATION = ("random-allocation==1.0.5", "pandas")
OPACUS = ("opacus==1.6.0", "torch==2.13.0", ITSELF)

PARTICIPANTS = {
    participant.name: participant
    for participant in (
        Participant("hockeystick", "hockeystick.py", (), 5),
        Participant("dp-accounting", "dp_accounting.py", ("dp-accounting==0.6.0",), 2),
        Participant("prv-accountant", "prv_accountant.py", ("prv-accountant==0.2.0",), 2),
        # Numba, which it does not require, makes it several times as fast.
        Participant("PLD-accounting", "pld_accounting.py", ("PLD-accounting==2.0", "numba"), 2),
        Participant("jax-privacy", "jax_privacy.py", ("jax-privacy==2.0.0",), 5),
        # Its simulation takes minutes and gigabytes, and nothing in it becomes warm.
        Participant("jax-privacy draws", "jax_privacy_draws.py", ("jax-privacy==2.0.0",), 1),
        Participant("random-allocation", "random_allocation.py", RANDOM_ALLOCATION, 4),
        Participant(
            "random-allocation decomposition",
            "random_allocation_decomposition.py",
            RANDOM_ALLOCATION,
            4,
        ),
        Participant("opacus RDP", "opacus_rdp.py", OPACUS, 5),
        Participant("opacus PRV", "opacus_prv.py", OPACUS, 2),
        Participant("opake", "opake.py", (*OPAKE, "numpy", "--no-deps"), 2, python="3.13"),
        Participant("riskcal", "riskcal.py", ("riskcal==1.5.1",), 2),
        # Ours and Opacus' own training in turns, in one process.
        Participant("training with opacus", "training_step.py", OPACUS, 1),
        # Other ways of our own.
        Participant("dictionaries", "dictionaries.py", (), 4),
        Participant("method renyi", "method_renyi.py", (), 4),
        Participant("draws", "verification.py", (), 3),
        Participant("half of our noise", "half_of_noise.py", (), 3),
    )
}
