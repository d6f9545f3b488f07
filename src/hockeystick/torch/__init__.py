"""PyTorch runs whose batches and noise are those of a plan (extra `torch`: PyTorch and Opacus)."""

from __future__ import annotations

from hockeystick.errors import MissingExtra

try:
    import opacus  # noqa: F401 - only whether it is there
    import torch  # noqa: F401
except ImportError as error:
    raise MissingExtra("Training in PyTorch needs torch and opacus", extra="torch") from error

from hockeystick.torch.batch_sampler import BatchSampler
from hockeystick.torch.forms import Epoch
from hockeystick.torch.loader import Collate, PlanLoader
from hockeystick.torch.losses import PrivateCriterion, PrivateLoss
from hockeystick.torch.noise_stream import TorchNoiseStream
from hockeystick.torch.optimizer import PlanOptimizer
from hockeystick.torch.preparation import make_private
from hockeystick.torch.probe_outcomes import ProbeReport
from hockeystick.torch.run import TorchRun
from hockeystick.torch.run_facts import fingerprint

__all__ = [
    "BatchSampler",
    "Collate",
    "Epoch",
    "PlanLoader",
    "PlanOptimizer",
    "PrivateCriterion",
    "PrivateLoss",
    "ProbeReport",
    "TorchNoiseStream",
    "TorchRun",
    "fingerprint",
    "make_private",
]
