"""Results as JSON: what they were measured on, and files that are complete or not there."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
from pathlib import Path

from environments import COMMON, HERE

COMPLETE = HERE / "results.json"
# What an interrupted run, or a run of some questions, leaves behind.
PARTIAL = HERE / "partial.json"


def machine() -> dict:
    """What the numbers were measured on."""
    packages = {}
    for name in ("hockeystick", *COMMON):
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "load_before": round(os.getloadavg()[0], 2),
        "packages": packages,
    }


def write(results: dict, path: Path) -> None:
    """Atomically: a reader sees the old file or the new one."""
    temporary = path.with_name(f".{path.name}.tmp")
    temporary.write_text(json.dumps(results, indent=1) + "\n")
    temporary.replace(path)


def read(path: Path = COMPLETE) -> dict:
    """Kept results."""
    return json.loads(path.read_text())


def renewed(complete: dict, some: dict) -> dict:
    """Complete results with the questions that were asked again, and when and where that was."""
    names = (*some["cases"], *some["sweeps"])
    when = f"{some['machine']['date']} ({some['machine']['processor']})"
    return {
        **complete,
        "cases": {**complete["cases"], **some["cases"]},
        "sweeps": {**complete["sweeps"], **some["sweeps"]},
        "environments": {**complete["environments"], **some.get("environments", {})},
        "again": {**complete.get("again", {}), **dict.fromkeys(names, when)},
    }


def _processor() -> str:
    """Its name where the system tells, else its architecture."""
    description = Path("/proc/cpuinfo")
    if description.exists():
        for line in description.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()
