"""Hugging Face models trained by a plan (extra `transformers`: transformers, peft, accelerate)."""

from __future__ import annotations

from hockeystick.errors import MissingExtra

try:
    import accelerate  # noqa: F401 - only whether it is there
    import transformers  # noqa: F401
except ImportError as error:
    raise MissingExtra(
        "Training of Hugging Face models needs transformers and accelerate", extra="transformers"
    ) from error

from hockeystick.transformers.checks import ExampleLoss, example_loss
from hockeystick.transformers.trainer import PlanTrainer

__all__ = ["ExampleLoss", "PlanTrainer", "example_loss"]
