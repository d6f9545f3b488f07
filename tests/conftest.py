"""Settings of the whole suite."""

from __future__ import annotations

from hypothesis import settings
from hypothesis.internal.conjecture import providers

# The same examples everywhere, so that a run can be repeated.
settings.register_profile("fixed", derandomize=True)
settings.load_profile("fixed")
# Hypothesis also draws constants from whatever modules happen to be loaded; then the examples of a
# test would depend on which tests ran before it, and on every number in the source.
if hasattr(providers, "_get_local_constants"):
    providers._get_local_constants = providers.Constants
