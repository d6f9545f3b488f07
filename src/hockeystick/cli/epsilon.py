"""`hockeystick epsilon`."""

from __future__ import annotations

from hockeystick.cli.gather import gathered
from hockeystick.cli.known_noise import answer_with_known_noise
from hockeystick.cli.options import (
    AccountingOptions,
    Baselines,
    Delta,
    NoiseMultiplier,
    OutputOptions,
    PlanOptions,
)

__all__ = ["epsilon"]


@gathered
def epsilon(
    run: PlanOptions,
    noise_multiplier: NoiseMultiplier,
    delta: Delta,
    accounting: AccountingOptions,
    output: OutputOptions,
    *,
    baselines: Baselines = False,
) -> None:
    """The epsilon of a run with known noise, at a given delta."""
    answer_with_known_noise(
        run,
        accounting,
        output,
        noise_multiplier=noise_multiplier,
        delta=delta,
        baselines=baselines,
    )
