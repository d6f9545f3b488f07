"""Results of experiments in a folder, with what they took: interrupted, they continue there."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Store"]

Array = NDArray[np.float32]


class Store:
    """Results in a folder, each in a file under the digest of what it depends on.

    `seconds` are those of processors, by the kind of result, that all results took that were asked
    for, whenever they were computed.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._took: dict[tuple[str, str], float] = {}

    @property
    def seconds(self) -> dict[str, float]:
        """What was computed once counts once."""
        found: dict[str, float] = {}
        for (kind, _), took in self._took.items():
            found[kind] = found.get(kind, 0.0) + took
        return {kind: round(took, 1) for kind, took in found.items()}

    def took(self, kind: str, key: dict[str, Any]) -> float:
        """The seconds of one result that was asked for."""
        return self._took[kind, _name(key)]

    def get(self, kind: str, key: dict[str, Any], compute: Callable[[], Any]) -> Any:
        """The stored result, or the computed one, which is then stored."""
        name = _name(key)
        if self._folder is None:
            return self._timed(kind, name, compute)
        path = self._folder / f"{name}.json"
        if path.is_file():
            stored = json.loads(path.read_text(encoding="utf-8"))
            self._took[kind, name] = stored["cpu_seconds"]
            return stored["result"]
        result = self._timed(kind, name, compute)
        self._folder.mkdir(parents=True, exist_ok=True)
        content = {"key": key, "result": result, "cpu_seconds": self._took[kind, name]}
        part = path.with_suffix(".part")
        part.write_text(json.dumps(content) + "\n", encoding="utf-8")
        part.replace(path)
        return result

    def array(self, kind: str, key: bytes, compute: Callable[[], Array]) -> Array:
        """The same for an array, in a file of its own; how long it took is beside it."""
        name = f"{kind}-{_digest(key)}"
        if self._folder is None:
            return self._timed(kind, name, compute)
        path = self._folder / f"{name}.npy"
        if not path.is_file():
            found = self._timed(kind, name, compute)
            self._folder.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".json").write_text(f"{self._took[kind, name]}\n", encoding="utf-8")
            np.save(path.with_suffix(".part.npy"), found)
            path.with_suffix(".part.npy").replace(path)
        self._took[kind, name] = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        return np.load(path)

    def _timed(self, kind: str, name: str, compute: Callable[[], Any]) -> Any:
        start = time.process_time()
        result = compute()
        self._took[kind, name] = round(time.process_time() - start, 2)
        return result


def _name(key: dict[str, Any]) -> str:
    return _digest(json.dumps(key, sort_keys=True).encode())


def _digest(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:24]
