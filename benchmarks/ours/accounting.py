"""Independent noise: Poisson sampling and random allocation."""

from __future__ import annotations

import sys
from functools import partial, reduce

import hockeystick as hs
import settings as s  # beside harness.py
from ours.plans import allocation_run, bounds, poisson_run
from starting import importing, whole_process

RUN = "--sampling poisson --rate 0.01 --steps 2000 --delta 1e-5"
COMMAND = (
    "epsilon --sampling random-allocation --picks 1 --out-of 1000 --steps 10000 "
    "--noise-multiplier 1 --delta 1e-6 --method all --json"
)


def poisson(c):
    """Plain Poisson sampling."""
    return bounds(poisson_run(c["noise"], c["rate"], c["steps"]), c["delta"])


def finer():
    """The same, closer than by default."""
    c = s.POISSON
    run = poisson_run(c["noise"], c["rate"], c["steps"], accuracy=s.FINE["accuracy"])
    return bounds(run, c["delta"])


def calibrated():
    """The least noise for a target."""
    c = s.CALIBRATED
    plan = hs.Plan(sampling=hs.Poisson(rate=c["rate"]), steps=c["steps"])
    found = hs.calibrate(plan, epsilon=c["epsilon"], delta=c["delta"]).noise_multiplier
    return None, found, [found]


def fifty_phases():
    """Fifty noise levels in turn."""
    c = s.PHASES
    runs = [poisson_run(noise, c["rate"], c["steps"]) for noise in c["noises"]]
    return bounds(reduce(hs.Guarantee.compose, runs), c["delta"])


def allocation():
    """One block of random allocation."""
    c = s.ALLOCATION
    return bounds(allocation_run(c["noise"], c["out_of"]), c["delta"])


def allocation_deltas():
    """From 1e-4 down to 1e-17."""
    deltas = [
        hs.Profile.gaussian(noise_multiplier=noise).allocate(s.DELTAS["out_of"]).delta(epsilon)
        for noise, epsilon in s.DELTAS["asked"]
    ]
    return None, deltas[-1], deltas


def several_picks(picks):
    """One block with several picks; with more than one, nothing is claimed from below."""
    c = s.PICKS
    return bounds(allocation_run(c["noise"], c["out_of"], picks=picks), c["delta"])


def five_runs():
    """The same run over more and more epochs."""
    c = s.FIVE_RUNS
    runs = [allocation_run(c["noise"], c["out_of"], epochs=epochs) for epochs in c["epochs"]]
    answers = [bounds(run, c["delta"]) for run in runs]
    return *answers[-1], [upper for _, upper in answers]


def _divergences(c, largest):
    """Every order from 2 on in one pass; nothing is remembered between calls."""
    profile = hs.Profile.gaussian(noise_multiplier=c["noise"]).allocate(c["out_of"])
    return profile.renyi(range(2, largest + 1)).tolist()


def many_orders(c):
    """Every order; the last one is shown."""
    return None, _divergences(c, c["largest"])[-1]


def compared_orders():
    """Every order that is compared."""
    divergences = _divergences(s.RENYI, s.RENYI["compared"])
    return None, divergences[-1], divergences


def advantage():
    """Of an attacker, with its lower bound."""
    c = s.ADVANTAGE
    guarantee = poisson_run(c["noise"], c["rate"], c["steps"])
    return guarantee.answer(epsilon=0.0).lower, guarantee.advantage()


def advantage_noise():
    """The least noise for an advantage."""
    c = s.ADVANTAGE
    plan = hs.Plan(sampling=hs.Poisson(rate=c["rate"]), steps=c["steps"])
    found = hs.calibrate(plan, advantage=c["target"]).noise_multiplier
    return None, found, [found]


def command(words):
    """One command, from its start to its end."""
    return partial(whole_process, sys.executable, "-m", "hockeystick", *words.split())


def all_methods():
    """The command with every analysis, from its start to its end."""
    return whole_process(sys.executable, "-m", "hockeystick", *COMMAND.split())


def steps(number):
    """More and more Poisson steps."""
    c = s.SWEEPS["steps"]
    return bounds(poisson_run(c["noise"], c["rate"], number), c["delta"])


def block(out_of):
    """Longer and longer blocks of random allocation."""
    c = s.SWEEPS["block"]
    return bounds(allocation_run(c["noise"], out_of), c["delta"])


def delta(number):
    """Smaller and smaller delta."""
    c = s.SWEEPS["delta"]
    return bounds(poisson_run(c["noise"], c["rate"], c["steps"]), number)


CASES = {
    "poisson": partial(poisson, s.POISSON),
    "both-bounds": partial(poisson, s.POISSON),
    "poisson-fine": finer,
    "calibrate": calibrated,
    "fifty-phases": fifty_phases,
    "small-noise": partial(poisson, s.SMALL_NOISE),
    "allocation": allocation,
    "allocation-deltas": allocation_deltas,
    **{f"{picks}-of-1024": partial(several_picks, picks) for picks in s.PICKS["picks"]},
    "five-runs": five_runs,
    "renyi-60": partial(many_orders, s.RENYI),
    "renyi-40": compared_orders,
    "renyi-1000": partial(many_orders, s.MANY_ORDERS),
    "all-methods": all_methods,
    "advantage": advantage,
    "advantage-noise": advantage_noise,
    "shell-epsilon": command(f"epsilon {RUN} --noise-multiplier 1.2"),
    "shell-calibrate": command(f"calibrate {RUN} --epsilon 2"),
    "compare-quick": command(
        "compare --examples 60000 --batch-size 512 --epochs 20 --epsilon 3 --delta 1e-5 --quick"
    ),
    "import": importing("hockeystick"),
}
SWEEPS = {"steps": steps, "block": block, "delta": delta}
