"""What an accountant of Opacus answers, with its defaults; an upper bound only."""

from __future__ import annotations

from functools import partial

from opacus.accountants.utils import get_noise_multiplier

import settings as s  # beside harness.py


class OpacusAnswers:
    """The cases and sweeps of one of its accountants."""

    def __init__(self, accountant) -> None:
        self._accountant = accountant
        self.cases = {
            "poisson": partial(self._poisson, **s.POISSON),
            "calibrate": self._calibrated,
            "fifty-phases": self._fifty_phases,
            "small-noise": partial(self._poisson, **s.SMALL_NOISE),
        }
        self.sweeps = {
            "steps": lambda steps: self._poisson(steps=steps, **s.SWEEPS["steps"]),
            "delta": lambda delta: self._poisson(delta=delta, **s.SWEEPS["delta"]),
        }

    def _epsilon(self, phases, delta):
        """Of phases (noise, rate, steps), which are written into its history."""
        accountant = self._accountant()
        accountant.history = list(phases)
        return None, accountant.get_epsilon(delta)

    def _poisson(self, noise, rate, steps, delta):
        """Plain Poisson sampling."""
        return self._epsilon([(noise, rate, steps)], delta)

    def _calibrated(self):
        """The least noise for a target, within its default tolerance."""
        c = s.CALIBRATED
        found = get_noise_multiplier(
            target_epsilon=c["epsilon"],
            target_delta=c["delta"],
            sample_rate=c["rate"],
            steps=c["steps"],
            accountant=self._accountant().mechanism(),
        )
        return None, found, [found]

    def _fifty_phases(self):
        """Fifty noise levels in turn."""
        c = s.PHASES
        return self._epsilon([(noise, c["rate"], c["steps"]) for noise in c["noises"]], c["delta"])
