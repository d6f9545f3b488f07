"""Lazy descriptions of pairs of distributions; see `base.py`."""
