"""The choice among valid bounds: which majorants are tried, and how finely each is computed.

Nothing here makes a bound valid or invalid: `order` certifies every matrix, `law` computes with it.
"""

from __future__ import annotations
