"""`hockeystick delta`."""

from __future__ import annotations

from hockeystick.cli.gather import gathered
from hockeystick.cli.known_noise import answer_with_known_noise
from hockeystick.cli.options import (
    AccountingOptions,
    Baselines,
    DrawOptions,
    Epsilon,
    NoiseMultiplier,
    OutputOptions,
    PlanOptions,
)

__all__ = ["delta"]


@gathered
def delta(
    run: PlanOptions,
    *,
    noise_multiplier: NoiseMultiplier,
    epsilon: Epsilon,
    accounting: AccountingOptions,
    drawing: DrawOptions,
    output: OutputOptions,
    baselines: Baselines = False,
) -> None:
    """The delta of a run with known noise, at a given epsilon."""
    answer_with_known_noise(
        run,
        accounting,
        drawing,
        output,
        noise_multiplier=noise_multiplier,
        epsilon=epsilon,
        baselines=baselines,
    )
