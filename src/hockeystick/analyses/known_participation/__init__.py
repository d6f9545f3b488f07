"""`known-participation`: the mean of Gaussian mechanisms over participations that are revealed."""

from __future__ import annotations
