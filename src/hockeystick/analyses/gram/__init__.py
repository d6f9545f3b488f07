"""`gram`: mixtures with Markov structure that dominate a plan, computed without sampling."""

from __future__ import annotations
