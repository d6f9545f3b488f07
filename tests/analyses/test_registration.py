"""An analysis of somebody else: one object and one line."""

from __future__ import annotations

from dataclasses import replace

import pytest

import hockeystick as hs
from hockeystick.analyses import METHODS, convolution, register
from hockeystick.guarantee import Analysis

PLAN = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=10)


def test_account_and_methods_know_it():
    """By its name, and "auto" takes it where it is the best."""

    def analyse(request):
        return Analysis("other", "proven", convolution.PROFILE.analyse(request).bound)

    method = replace(convolution.PROFILE, name="other", analyse=analyse)
    assert register(method) is method
    try:
        assert hs.methods(PLAN)["other"] == "proven"
        found = hs.account(PLAN, noise_multiplier=1.0, method="other")
        assert found.epsilon(1e-5) == hs.account(PLAN, noise_multiplier=1.0).epsilon(1e-5)
        assert found.method == "other"
        register(method)
        with pytest.raises(hs.errors.InvalidParameter, match="other"):
            register(replace(method, summary="another one"))
    finally:
        del METHODS["other"]
