"""Which Gram matrices dominate which.

`chains` and `moving_average` are matrices with Markov structure; `lag_bounds` are bounds by
distance; `domination` and `blocks` say why a matrix dominates another, or is dominated by it. All
of it is proof: whatever `search` proposes is certified here. Nothing here imports `search`.
"""

from __future__ import annotations
