"""Tables, figures and files made from guarantees; the library itself never imports this."""

from __future__ import annotations
