"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from hockeystick._files import check_target, replacing
from hockeystick.errors import InvalidParameter


def test_the_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    """Until then the old content is there."""
    path = tmp_path / "x"
    path.write_bytes(b"old")
    with replacing(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_nothing_is_left_after_an_error(tmp_path: Path, error: type[BaseException]) -> None:
    """No target and no temporary file."""

    def stop_halfway() -> None:
        with replacing(tmp_path / "x") as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        stop_halfway()
    assert list(tmp_path.iterdir()) == []


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    """The umask decides, as for a file that is opened directly."""
    before = os.umask(0o027)
    try:
        with replacing(tmp_path / "x") as file:
            file.write(b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "x").stat().st_mode) == 0o640


def test_targets_are_checked(tmp_path: Path) -> None:
    """A file in a directory that exists; the error names the parameter."""
    assert check_target("output", tmp_path / "x") == tmp_path / "x"
    for path in (tmp_path, tmp_path / "missing" / "x"):
        with pytest.raises(InvalidParameter) as caught:
            check_target("output", path)
        assert caught.value.name == "output"
