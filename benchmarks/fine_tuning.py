"""Time of a step of fine-tuning: without privacy, here, and in other libraries where they install.

Steps of all are taken in turns in one process on one thread, and medians are compared. The model is
a GPT-2 with random weights and LoRA adapters; the noise in JAX is of a million parameters.

Usage: python benchmarks/fine_tuning.py; keeps what was measured in fine_tuning.json, from which the
page of benchmarks has its table. Opake has to be installed beside the extra `test-extras`.
"""

from __future__ import annotations

import json
import os
import statistics
import time
import warnings
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import jax
import jax.numpy as jnp
import torch
from opacus.grad_sample import GradSampleModule
from opacus.optimizers import DPOptimizer
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

import hockeystick as hs
from fine_tuning_table import KEPT, LOOP, NOISE, TRAINER
from hockeystick.transformers import example_loss
from trainer_steps import steps_of_trainers

BATCH, LENGTH, WORDS, TURNS, PARAMETERS = 16, 64, 500, 12, 1_000_000
PACKAGES = ("torch", "opacus", "transformers", "peft", "jax", "jax-privacy", "opake")


class Texts(torch.utils.data.Dataset[Any]):
    """Random tokens."""

    def __init__(self) -> None:
        source = torch.Generator().manual_seed(1)
        self.tokens = torch.randint(WORDS, (BATCH, LENGTH), generator=source)

    def __len__(self) -> int:
        return BATCH

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.tokens[index]


def network() -> Any:
    """Two blocks of width 128 with adapters of rank 8."""
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=WORDS, n_positions=LENGTH, n_embd=128, n_layer=2, n_head=4, resid_pdrop=0.0
    )
    config.embd_pdrop = config.attn_pdrop = 0.0
    lora = LoraConfig(r=8, target_modules=["c_attn", "c_proj"], fan_in_fan_out=True)
    return get_peft_model(GPT2LMHeadModel(config), lora).train()


def trained(model: Any) -> list[torch.Tensor]:
    """The adapters."""
    return [p for p in model.parameters() if p.requires_grad]


def without_privacy() -> Callable[[], None]:
    """The same loop with the mean loss of the batch."""
    model, tokens = network(), Texts().tokens
    optimizer, loss = torch.optim.SGD(trained(model), lr=0.01), example_loss(model)

    def step() -> None:
        loss(model(tokens).logits, tokens).mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def here(clipping: str) -> Callable[[], None]:
    """A private run; full batches, so that every step has as many examples."""
    model = network()
    run = hs.torch.make_private(
        model,
        torch.optim.SGD(trained(model), lr=0.01),
        Texts(),
        hs.Plan(sampling=hs.FullBatch(), steps=10_000),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        clipping=clipping,
    )
    criterion, batches = run.loss(example_loss(model)), iter(run.loader)

    def step() -> None:
        tokens = next(batches)
        criterion(run.model(tokens).logits, tokens).backward()
        run.optimizer.step()
        run.optimizer.zero_grad()

    return step


def opacus() -> Callable[[], None]:
    """Opacus' hooks and optimizer on the same adapters."""
    model = GradSampleModule(network(), loss_reduction="mean")
    optimizer = DPOptimizer(
        torch.optim.SGD(trained(model), lr=0.01),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
        expected_batch_size=BATCH,
    )
    tokens, loss = Texts().tokens, example_loss(model._module)

    def step() -> None:
        loss(model(tokens).logits, tokens).mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def noise_here(strategy: Any) -> Callable[[], None]:
    """Our noise in JAX, compiled."""
    plan = hs.Plan(sampling=hs.FullBatch(), steps=strategy.steps, strategy=strategy)
    return _compiled(hs.jax.plan_noise(plan, noise_multiplier=1.0, max_grad_norm=1.0))


def noise_of_jax_privacy(strategy: Any) -> Callable[[], None]:
    """The privatizer of jax-privacy with the same matrix."""
    from jax_privacy import noise_addition
    from jax_privacy.matrix_factorization import toeplitz

    matrix = toeplitz.inverse_as_streaming_matrix(jnp.asarray(strategy.coefficients))
    return _compiled(noise_addition.matrix_factorization_privatizer(matrix, stddev=1.0, prng_key=1))


def _compiled(transformation: Any) -> Callable[[], None]:
    zeros = jnp.zeros(PARAMETERS)
    state, update = [transformation.init(zeros)], jax.jit(transformation.update)

    def step() -> None:
        added, state[0] = update(zeros, state[0])
        added.block_until_ready()

    return step


def medians(cases: dict[str, Callable[[], None]]) -> dict[str, float]:
    """Seconds of a step, in turns; the first two turns warm up."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(TURNS):
        for name, step in cases.items():
            start = time.process_time()
            step()
            times[name].append(time.process_time() - start)
    return {name: round(statistics.median(some[2:]), 6) for name, some in times.items()}


def main() -> None:
    """Measure, print and keep."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    strategy = hs.strategies.bsr(1000, bands=8)
    found: dict[str, Any] = {"versions": {}}
    for package in PACKAGES:
        try:
            found["versions"][package] = version(package)
        except PackageNotFoundError:
            found["versions"][package] = None
    found[LOOP] = medians(
        {
            "without privacy": without_privacy(),
            "hockeystick, per-sample": here("per-sample"),
            "hockeystick, ghost": here("ghost"),
            "Opacus": opacus(),
        }
    )
    found[TRAINER] = steps_of_trainers(network, Texts().tokens)
    cases = {"hockeystick": noise_here(strategy), "jax-privacy": noise_of_jax_privacy(strategy)}
    found[NOISE] = medians(cases)
    found["load"] = os.getloadavg()[0]
    text = json.dumps(found, indent=1)
    print(text)
    KEPT.write_text(text + "\n")


if __name__ == "__main__":
    main()
