"""Which Levy process a filter uses: heuristics, no part of any proof.

Whatever process comes out, charges and guarantee are computed from it by `levy/charge.py` and
`levy/pair.py`; a bad choice allows fewer steps.
"""

from __future__ import annotations
