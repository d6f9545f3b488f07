"""The command `hockeystick`; nothing in the library imports it."""

from __future__ import annotations
