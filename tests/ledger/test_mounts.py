"""A ledger that is mounted twice: with its directory it works, alone it is refused."""

from __future__ import annotations

import os

import pytest

from hockeystick.errors import BudgetExceeded
from hockeystick.ledger import adopt
from ledger.mounts import mounted
from ledger.test_opening import opened
from ledger.test_places import half, path, problems, refuses

__all__ = ["path"]


def test_a_file_mounted_alone(path, directory):
    """Its journal would be in another directory."""
    target = directory / "mount" / "ledger.db"
    target.parent.mkdir()
    target.touch()
    with mounted(path, target):
        refuses(lambda: opened(target), "mounted as a single file")
        refuses(lambda: adopt(target), "mounted as a single file")
        assert "mounted as a single file" in problems(target)
        assert opened(path).spent() == 0.5


def test_a_file_mounted_alone_where_mounts_are_unknown(path, directory, monkeypatch):
    """The directory that is recorded in the file is another one, even under the same path.

    A hard link that is alone stands for the mount.
    """
    (directory / "other").mkdir()
    target = directory / "other" / "ledger.db"
    os.link(path, target)
    path.unlink()
    monkeypatch.setattr("hockeystick.ledger.locations.MOUNTS", directory / "none")
    refuses(lambda: opened(target), "may be a copy")


def test_a_directory_mounted_twice(path, directory):
    """File and journal are the same through both: locks hold and crashes are seen."""
    target = directory / "mount"
    target.mkdir()
    source = directory / "source"
    source.mkdir()
    first = opened(source / "ledger.db", "shared")
    with mounted(source, target):
        second = opened(target / "ledger.db", "shared")
        assert first.reserve(half).number == 1
        assert second.reserve(half).number == 2
        for store in (first, second):
            with pytest.raises(BudgetExceeded):
                store.reserve(half)
        assert not problems(target / "ledger.db")
        second.close()
