"""How a row of the comparison is made again and run: commands and Python, with its optimizer."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hockeystick.accounting.candidates import OPTIMIZERS
from hockeystick.plan import Plan
from hockeystick.report import settings_of
from hockeystick.schemes import Sampling
from hockeystick.strategies.iterates import SCHEDULES

if TYPE_CHECKING:
    from hockeystick.accounting.compare import Compared

__all__ = [
    "OptimizerSetting",
    "commands",
    "python_code",
    "training_code",
    "verifying_command",
]

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


# Parameters that the command line takes from the scheme or from other options.
FOUND_BY_THE_COMMAND = ("separation", "participations", "workload")
PLAIN = OptimizerSetting()


def commands(
    one: Compared, *, examples: int, seed: int, optimizer: OptimizerSetting = PLAIN
) -> list[str]:
    """Its noise, its epsilon at that noise, and batches as they are drawn for a look."""
    found = one.calibration
    plan = _plan_words(one.plan, optimizer)
    noise = f"--noise-multiplier {found.noise_multiplier!r}"
    draw = [*_sampling_words(one.plan.sampling), "--steps", str(one.plan.steps)]
    return [
        f"hockeystick calibrate {plan} --epsilon {found.epsilon!r} --delta {found.delta!r}"
        f"{' --method monte-carlo' if _by_draws(one) else ''}",
        f"hockeystick epsilon {plan} {noise} --delta {found.delta!r} --method all",
        f"hockeystick tradeoff {plan} {noise}",
        f"hockeystick batches {shlex.join(draw)} --examples {examples} --seed {seed} "
        "--output batches.npz",
    ]


def verifying_command(one: Compared, *, optimizer: OptimizerSetting = PLAIN) -> str:
    """Draws that may verify less noise; `--dry-run` says what they would take."""
    found = one.calibration
    return (
        f"hockeystick calibrate {_plan_words(one.plan, optimizer)} --epsilon {found.epsilon!r} "
        f"--delta {found.delta!r} --method monte-carlo --dry-run"
    )


def python_code(one: Compared, *, optimizer: OptimizerSetting = PLAIN) -> str:
    """A script that prints the noise multiplier, the epsilon that it reaches and the error."""
    error = "" if optimizer.is_plain or not optimizer.linear else "workload"
    return f"""\
import hockeystick as hs
{_numpy(optimizer)}
{_calibrated(one, optimizer, workload=bool(error) or _made_for_it(one))}\
print(found.noise_multiplier**2 * plan.strategy.mean_squared_error({error}))
"""


def training_code(
    one: Compared,
    *,
    examples: int,
    optimizer: OptimizerSetting = PLAIN,
    examples_per_user: int | None = None,
) -> str:
    """A script from the plan to the statement, with data and a model that stand in for yours."""
    plan, delta = one.plan, one.calibration.delta
    graph, attribution = _users(examples, examples_per_user)
    claim = ", guarantee=found.guarantee" if _by_draws(one) else ""
    schedule = after = ""
    if optimizer.schedule is not None:
        schedule = (
            f"rates = {optimizer.rates_code(plan.steps)}\n"
            "schedule = torch.optim.lr_scheduler.LambdaLR(\n"
            "    base, lambda step: rates[min(step, plan.steps - 1)] / rates.max()\n)\n"
        )
        after = "    schedule.step()\n"
    return f"""\
import hockeystick as hs
import torch
{_numpy(optimizer)}
{_calibrated(one, optimizer, workload=_made_for_it(one))}
# Yours instead of these: the data set, the network, the optimizer.
dataset = torch.utils.data.TensorDataset(
    torch.randn({examples}, 20), torch.randint(2, ({examples},))
)
network = torch.nn.Linear(20, 2)
base = {optimizer.torch_code("network.parameters()")}
{schedule}{graph}
run = hs.torch.make_private(
    network,
    base,
    dataset,
    plan,
    noise_multiplier=found.noise_multiplier,
    max_grad_norm=1.0,{attribution}
)
model, optimizer, loader = run
criterion = run.loss(torch.nn.CrossEntropyLoss())
for inputs, labels in loader:  # {plan.steps} steps
    optimizer.zero_grad()
    criterion(model(inputs), labels).backward()
    optimizer.step()
{after}
statement = run.statement(delta={delta!r}{claim})
print(statement.paragraph())
statement.save("statement.json")  # hockeystick verify statement.json
"""


def _calibrated(one: Compared, optimizer: OptimizerSetting, *, workload: bool) -> str:
    """The plan, its noise, and both printed; what it is optimised for, if that is asked for."""
    plan, found = one.plan, one.calibration
    sampling = ", ".join(f"{name}={value!r}" for name, value in settings_of(plan.sampling))
    strategy = ""
    if plan.correlated:
        made = plan.strategy.name.replace("-", "_")
        given = _parameters(plan)
        strategy = f"    strategy=hs.strategies.{made}({plan.steps}{given}),\n"
    method = ', method="monte-carlo"' if _by_draws(one) else ""
    made_for = f"workload = {optimizer.workload_code(plan.steps)}\n" if workload else ""
    return f"""\
{made_for}plan = hs.Plan(
    sampling=hs.{type(plan.sampling).__name__}({sampling}),
    steps={plan.steps},
{strategy})
found = hs.calibrate(plan, epsilon={found.epsilon!r}, delta={found.delta!r}{method})
print(found.noise_multiplier, found.guarantee.epsilon({found.delta!r}))
"""


def _by_draws(one: Compared) -> bool:
    """Whether the noise was verified: it is tested anew, with fresh draws."""
    return one.answer.kind == "verified"


def _made_for_it(one: Compared) -> bool:
    """Whether the strategy was optimised for another workload than prefix sums."""
    return "workload" in one.plan.strategy.parameters


def _parameters(plan: Plan) -> str:
    """The arguments of the factorization after the steps."""
    return "".join(
        f", {name}={name if name == 'workload' else repr(value)}"
        for name, value in plan.strategy.parameters.items()
    )


def _numpy(optimizer: OptimizerSetting) -> str:
    """The import, where learning rates are read from a file."""
    return "import numpy as np\n" if optimizer.from_file else ""


def _users(examples: int, examples_per_user: int | None) -> tuple[str, str]:
    """Whose the examples are, and the argument of `make_private`; nothing without users."""
    if examples_per_user is None:
        return "", ""
    graph = f"""\
# the user of each example: your column
users = hs.Attribution.from_users([example // {examples_per_user} for example in range({examples})])
"""
    return graph, "\n    attribution=users,"


def _sampling_words(sampling: Sampling) -> list[str]:
    words = ["--sampling", sampling.name]
    for name, value in settings_of(sampling):
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [option, repr(value)]
    return words


def _plan_words(plan: Plan, optimizer: OptimizerSetting) -> str:
    words = [*_sampling_words(plan.sampling), "--steps", str(plan.steps)]
    if plan.correlated:
        words += ["--strategy", plan.strategy.name]
        for name, value in plan.strategy.parameters.items():
            if name not in FOUND_BY_THE_COMMAND:
                words += [f"--{name}", str(value)]
        if "workload" in plan.strategy.parameters:
            words += optimizer.words()
    return shlex.join(words)
