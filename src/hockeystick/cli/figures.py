"""The figures of the papers and what becomes of them here, from `reproductions/figures.toml`."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CATALOGUE", "STATUSES", "Figure", "Paper", "all_papers"]

CATALOGUE = "figures.toml"
STATUSES = ("reproduced", "in part", "needs data", "not here", "own")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of a paper, or one of our own beside them, which has no number."""

    shows: str
    status: str
    number: int | None = None
    script: str | None = None
    remark: str | None = None

    @property
    def label(self) -> str:
        """How the paper calls it."""
        return "" if self.number is None else f"Figure {self.number}"


@dataclass(frozen=True)
class Paper:
    """A paper, how many figures it has, and what is known about them."""

    key: str
    title: str
    figures: int
    entries: tuple[Figure, ...]


def all_papers(folder: Path) -> tuple[Paper, ...]:
    """The papers in the order of the file; none if the folder has no such file."""
    path = folder / CATALOGUE
    if not path.is_file():
        return ()
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    entries: dict[str, list[Figure]] = {paper["key"]: [] for paper in content["paper"]}
    for found in content["figure"]:
        entries[found.pop("paper")].append(Figure(**found))
    return tuple(
        Paper(paper["key"], paper["title"], paper["figures"], tuple(entries[paper["key"]]))
        for paper in content["paper"]
    )
