"""Settings of the whole suite."""

from __future__ import annotations

from hypothesis import settings

# The same examples everywhere, so that a run can be repeated.
settings.register_profile("fixed", derandomize=True)
settings.load_profile("fixed")
