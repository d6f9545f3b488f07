"""Draws docs/images/architecture.png: one call's way through the rooms.

Run it with `python docs/architecture_picture.py` (extra `plot`).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

TARGET = Path(__file__).parent / "images" / "architecture.png"
# One colour for each kind of room: what is run, who chooses, what is proved, what only searches.
RUN, CHOOSE, PROOF, SEARCH, SHARED = "#dbe9f6", "#fde8cf", "#dcefdc", "#f6dfe6", "#ececec"
INK = "#333333"


class Box(NamedTuple):
    """A box: its lower left corner and its size, its title, and the lines below it."""

    x: float
    y: float
    width: float
    height: float
    colour: str
    title: str
    lines: str

    @property
    def middle(self) -> float:
        """Where an arrow from above ends."""
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        """The upper edge."""
        return self.y + self.height


def _wide(y: float, height: float, colour: str, title: str, lines: str) -> Box:
    return Box(0.2, y, 11.6, height, colour, title, lines)


def _third(place: int, y: float, colour: str, title: str, lines: str) -> Box:
    return Box(0.2 + 3.95 * place, y, 3.7, 1.75, colour, title, lines)


PLAN = _wide(
    11.65,
    1.4,
    RUN,
    "1  What is run",
    "BallsInBins(bins=100)     schemes/balls_in_bins/__init__.py\n"
    "bsr(1000, bands=4)        strategies/closed_forms.py\n"
    "Plan(...)                 plan.py",
)
ACCOUNT = _wide(
    9.75,
    1.4,
    CHOOSE,
    "2  Which analyses apply",
    "account(plan, noise_multiplier=4)      accounting/__init__.py\n"
    "asks every analysis, and each asks the scheme for what it needs:\n"
    "a dominating pair? no, the noise is correlated.   A uniform mixture? yes.",
)
REQUEST = _wide(
    8.05,
    1.2,
    CHOOSE,
    "3  One request",
    "Guarantee.epsilon(1e-5)    guarantee.py, bounds/__init__.py\n"
    "evaluates the bounds one after the other, and takes the smallest",
)
BOUNDS = [
    _third(0, 5.75, PROOF, "4  gaussian", "the bin is revealed:\nclosed form\n\n4.198"),
    _third(1, 5.75, PROOF, "5  renyi", "moments of LR,\nbest order\n\n1.192"),
    _third(2, 5.75, PROOF, "6  gram", "law of LR for a\nlarger Gram matrix\n\n0.896"),
]
GRAM = [
    _third(
        0,
        3.1,
        SEARCH,
        "search proposes",
        "analyses/gram/search/\nwhich majorant K',\nhow fine a lattice;\n"
        "cannot make a bound invalid",
    ),
    _third(
        1,
        3.1,
        PROOF,
        "order certifies",
        "analyses/gram/order/\nK' dominates K: K' - K is a\n"
        "sum of a positive semidefinite\nand a non-negative matrix",
    ),
    _third(
        2,
        3.1,
        PROOF,
        "law computes",
        "analyses/gram/law/\nrecursion over the bins,\nevery rounding towards\nthe safe side",
    ),
]
ANSWER = _wide(
    1.6,
    1.0,
    CHOOSE,
    "7  The answer",
    "0.896, the smallest: by gram, remove direction, proven; the lower bound when it is read",
)
SHARED_ROOMS = _wide(
    0.15,
    1.0,
    SHARED,
    "below all of them",
    "profile/, _numerics/: expressions, laws, grids, rounding, convolution, Gaussians",
)


def _draw_box(axes: plt.Axes, box: Box) -> None:
    axes.add_patch(
        FancyBboxPatch(
            (box.x, box.y),
            box.width,
            box.height,
            boxstyle="round,pad=0,rounding_size=0.12",
            facecolor=box.colour,
            edgecolor="#555555",
            linewidth=0.9,
        )
    )
    top = box.top - 0.13
    axes.text(box.x + 0.18, top, box.title, fontsize=12, fontweight="bold", va="top")
    text = {"fontsize": 10, "va": "top", "family": "monospace", "linespacing": 1.35}
    axes.text(box.x + 0.18, top - 0.4, box.lines, **text)


def _draw_arrow(axes: plt.Axes, *points: tuple[float, float]) -> None:
    """Along the points, with a head at the last one."""
    axes.plot(*zip(*points, strict=True), color=INK, linewidth=1.2)
    head = FancyArrowPatch(
        points[-2], points[-1], arrowstyle="-|>", mutation_scale=13, color=INK, shrinkA=0, shrinkB=0
    )
    axes.add_patch(head)


def draw(target: Path) -> None:
    """Write the picture."""
    figure, axes = plt.subplots(figsize=(12, 13.2))
    axes.set(xlim=(0, 12), ylim=(0, 13.2))
    axes.axis("off")
    for box in (PLAN, ACCOUNT, REQUEST, *BOUNDS, *GRAM, ANSWER, SHARED_ROOMS):
        _draw_box(axes, box)
    for upper, lower in ((PLAN, ACCOUNT), (ACCOUNT, REQUEST)):
        _draw_arrow(axes, (upper.middle, upper.y), (upper.middle, lower.top))
    for box in BOUNDS:
        _draw_arrow(axes, (box.middle, REQUEST.y), (box.middle, box.top))
    gram, first = BOUNDS[-1], GRAM[0]
    turn = (gram.y + first.top) / 2
    _draw_arrow(
        axes,
        (gram.middle, gram.y),
        (gram.middle, turn),
        (first.middle, turn),
        (first.middle, first.top),
    )
    for left, right in ((GRAM[0], GRAM[1]), (GRAM[1], GRAM[2])):
        level = left.y + left.height / 2
        _draw_arrow(axes, (left.x + left.width, level), (right.x, level))
    _draw_arrow(axes, (GRAM[2].middle, GRAM[2].y), (GRAM[2].middle, ANSWER.top))
    figure.savefig(target, dpi=80, bbox_inches="tight", pad_inches=0.1, metadata={"Software": None})
    plt.close(figure)


if __name__ == "__main__":
    draw(TARGET)
