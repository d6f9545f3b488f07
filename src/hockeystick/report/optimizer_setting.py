"""What the optimizer does with the gradients, as words of a command, as Python and as text."""

from __future__ import annotations

from dataclasses import dataclass

from hockeystick.accounting.candidates import OPTIMIZERS
from hockeystick.strategies.iterates import SCHEDULES

__all__ = ["OptimizerSetting"]

# What PyTorch calls them, and a usual learning rate.
CLASSES = {
    "sgd": ("SGD", 0.1),
    "adam": ("Adam", 0.001),
    "adamw": ("AdamW", 0.001),
    "adagrad": ("Adagrad", 0.01),
    "rmsprop": ("RMSprop", 0.001),
    "other": ("SGD", 0.1),
}


@dataclass(frozen=True)
class OptimizerSetting:
    """The optimizer, its heavy-ball momentum, and learning rates: a name, or a file with them."""

    momentum: float = 0.0
    schedule: str | None = None
    name: str = "sgd"

    @property
    def is_plain(self) -> bool:
        """Whether it is gradient descent with a constant learning rate."""
        return self.linear and not self.momentum and self.schedule in (None, "constant")

    @property
    def linear(self) -> bool:
        """Whether its iterates are linear in the gradients."""
        return OPTIMIZERS[self.name]

    @property
    def from_file(self) -> bool:
        """Whether the learning rates are read from a file."""
        return self.schedule is not None and self.schedule not in SCHEDULES

    def words(self) -> list[str]:
        """The options of commands."""
        words = ["--momentum", repr(self.momentum)] if self.momentum else []
        if self.schedule is not None:
            words += ["--learning-rate-schedule", self.schedule]
        return words

    def rates_code(self, steps: int) -> str:
        """The learning rates as a Python expression."""
        if self.schedule in SCHEDULES:
            return f'hs.strategies.learning_rates("{self.schedule}", steps={steps})'
        read = "np.load" if str(self.schedule).endswith(".npy") else "np.loadtxt"
        return f"{read}({self.schedule!r})"

    def torch_code(self, parameters: str) -> str:
        """The optimizer as a Python expression, with a learning rate that stands in for yours."""
        name, rate = CLASSES[self.name]
        momentum = f", momentum={self.momentum!r}" if self.momentum else ""
        return f"torch.optim.{name}({parameters}, lr={rate}{momentum})"

    def workload_code(self, steps: int) -> str:
        """The workload as a Python expression."""
        given = f", momentum={self.momentum!r}" if self.momentum else ""
        if self.schedule in SCHEDULES:
            given += f', learning_rates="{self.schedule}"'
        elif self.schedule is not None:
            given += f", learning_rates={self.rates_code(steps)}"
        return f"hs.strategies.iterates({steps}{given})"

    def __str__(self) -> str:
        """Such as "SGD with momentum 0.9 and cosine learning rates"."""
        if not self.linear:
            return "an optimizer other than SGD" if self.name == "other" else CLASSES[self.name][0]
        parts = [f"momentum {self.momentum:g}"] if self.momentum else []
        if self.schedule in SCHEDULES:
            parts.append(f"{self.schedule} learning rates")
        elif self.schedule is not None:
            parts.append(f"the learning rates of {self.schedule}")
        return f"SGD with {' and '.join(parts)}" if parts else "SGD"
