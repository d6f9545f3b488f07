"""What a guarantee says beside its numbers."""

from __future__ import annotations

import hockeystick as hs


def test_poisson_batches_with_correlated_noise_name_the_better_ones():
    """One sentence with the groups that suit the bands, which indeed need less noise."""
    plan = hs.Plan(
        sampling=hs.Poisson(rate=0.02), steps=20, strategy=hs.strategies.bsr(20, bands=4)
    )
    guarantee = hs.account(plan, noise_multiplier=2.0)
    assert "CyclicPoisson(rate=0.08, groups=4)" in guarantee.note
    groups = hs.Plan(
        sampling=hs.CyclicPoisson(rate=0.08, groups=4), steps=20, strategy=plan.strategy
    )
    assert hs.account(groups, noise_multiplier=2.0).epsilon(1e-5) < guarantee.epsilon(1e-5)
    alone = hs.Plan(sampling=hs.Poisson(rate=0.02), steps=20)
    assert hs.account(alone, noise_multiplier=2.0).note is None
    often = hs.Plan(sampling=hs.Poisson(rate=0.5), steps=20, strategy=plan.strategy)
    assert "CyclicPoisson" not in (hs.account(often, noise_multiplier=2.0).note or "")
