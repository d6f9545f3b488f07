"""Our noise where two processes share it: what each of them remembers and takes."""

from __future__ import annotations

from functools import partial

from ours.matrices import noise_parameters  # beside harness.py

CASES = {}
SWEEPS = {"noise-parameters": partial(noise_parameters, share=2)}
