"""riskcal: the advantage of an attacker against DP-SGD, and noise for one, at its defaults."""

from __future__ import annotations

from riskcal.calibration import dpsgd

import settings as s  # beside harness.py
from starting import importing


def advantage():
    """At a given noise."""
    c = s.ADVANTAGE
    return None, dpsgd.get_advantage_for_dpsgd(
        noise_multiplier=c["noise"], sample_rate=c["rate"], num_steps=c["steps"]
    )


def advantage_noise():
    """The least noise for a target."""
    c = s.ADVANTAGE
    found = dpsgd.find_noise_multiplier_for_advantage(
        advantage=c["target"], sample_rate=c["rate"], num_steps=c["steps"]
    )
    return None, found, [found]


CASES = {
    "advantage": advantage,
    "advantage-noise": advantage_noise,
    "import": importing("riskcal"),
}
SWEEPS = {}
