"""`python -m hockeystick` is the command `hockeystick`."""

from __future__ import annotations

from hockeystick.cli.main import run

if __name__ == "__main__":
    run()
