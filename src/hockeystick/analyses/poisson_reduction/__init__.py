"""`poisson-reduction`: a run dominated by Poisson sampling with independent noise."""

from __future__ import annotations
