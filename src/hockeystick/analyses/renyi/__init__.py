"""`renyi`: moments of the likelihood ratio, converted with the best order."""

from __future__ import annotations
