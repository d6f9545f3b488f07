"""`hockeystick epsilon`."""

from __future__ import annotations

from hockeystick.cli.gather import gathered
from hockeystick.cli.known_noise import answer_with_known_noise
from hockeystick.cli.options import (
    AccountingOptions,
    Baselines,
    Delta,
    DrawOptions,
    NoiseMultiplier,
    OutputOptions,
    PlanOptions,
)
from hockeystick.errors import InvalidParameter

__all__ = ["epsilon"]


@gathered
def epsilon(
    run: PlanOptions,
    *,
    noise_multiplier: NoiseMultiplier,
    delta: Delta,
    accounting: AccountingOptions,
    drawing: DrawOptions,
    output: OutputOptions,
    baselines: Baselines = False,
) -> None:
    """The epsilon of a run with known noise, at a given delta."""
    if accounting.by_draws:
        allowed = "another one here, because draws bound delta at an epsilon: hockeystick delta"
        raise InvalidParameter("method", allowed, accounting.method)
    answer_with_known_noise(
        run,
        accounting,
        drawing,
        output,
        noise_multiplier=noise_multiplier,
        delta=delta,
        baselines=baselines,
    )
