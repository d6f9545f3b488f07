"""Laws of sums of correlated lognormal terms, rounded in convex order, and the bounds they give.

All of it is proof. `LatticeSettings` only says where nodes are placed: any values give a valid
bound. Nothing here imports `search`.
"""

from __future__ import annotations
