"""PerSampleModule: Opacus' hooks on a model, for as long as one run needs them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar
from weakref import ReferenceType, WeakKeyDictionary, ref

import torch
from opacus.grad_sample import (
    AbstractGradSampleModule,
    GradSampleModule,
    create_or_accumulate_grad_sample,
)
from opacus.grad_sample.functorch import ft_compute_per_sample_gradient
from opacus.grad_sample.grad_sample_module import promote_current_grad_sample
from opacus.layers import DPGRU, DPLSTM, DPRNN
from opacus.utils.module_utils import has_trainable_params
from torch import nn
from torch.nn.utils.rnn import PackedSequence

from hockeystick.errors import InvalidParameter, PlanMismatch
from hockeystick.torch.layer_gradients import SAMPLERS
from hockeystick.torch.model_state import layer_type, parts_of, tensors_of

__all__ = ["PerSampleModule", "forget_activations", "forget_gradients", "free_module"]

# Carries out a call of the model: from its forward method, arguments and options to the output.
Observer = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]

# Which run has its hooks on a module; hooks keep the value alive for as long as they are there.
_ATTACHED: WeakKeyDictionary[nn.Module, ReferenceType[PerSampleModule]] = WeakKeyDictionary()


def _refuse_sorting(_: nn.Module, given: tuple[Any, ...]) -> None:
    """`PlanMismatch` for sequences that were sorted by length: Opacus does not sort them back."""
    first = given[0] if given else None
    order = first.sorted_indices if isinstance(first, PackedSequence) else None
    if order is not None and not bool((order == torch.arange(len(order)).to(order)).all()):
        raise PlanMismatch(
            "Packed sequences have to be in the order of their lengths: sort the examples in the "
            "collate function and use enforce_sorted=True, because gradients of single examples "
            "would be mixed up otherwise."
        )


class PerSampleModule(GradSampleModule):
    """Opacus' module with per-example gradients, whose calls go through `observer`.

    An embedding that is looked up once for all examples, as positions are, gives Opacus the sum of
    all gradients. Such a row of indices is repeated for each of the batch's `examples`: the output
    has the same values, and each example its own gradient. That is exact if the model uses the row
    of an example for this example only, which the probe compares with PyTorch's own gradients of
    the model as it is; no other layer is treated so later.

    Its hooks are on the model from the start until `detach`; after that it calls the model as it
    is. `owner` is the run's optimizer, which is gone if nobody can take a step any more.
    """

    GRAD_SAMPLERS: ClassVar[dict[Any, Any]] = {
        **GradSampleModule.GRAD_SAMPLERS,
        **SAMPLERS,
    }
    observer: Observer | None = None
    attached: bool = False
    examples: int | None = None
    probing: bool = False
    owner: Callable[[], Any] = staticmethod(lambda: None)

    def __init__(self, model: nn.Module) -> None:
        super().__init__(model, loss_reduction="sum")
        # A second backward pass would let an example contribute twice.
        self.forbid_grad_accumulation()
        self._repeated: set[int] = set()
        self._attach()

    def forward(self, *arguments: Any, **options: Any) -> Any:
        """What the model computes."""
        forward: Callable[..., Any] = super().forward
        if self.observer is None:
            return forward(*arguments, **options)
        return self.observer(forward, arguments, options)

    def iterate_submodules(self, module: nn.Module) -> Iterator[nn.Module]:
        """The layers that get hooks; parts of one without a formula of its own do not."""
        trained = has_trainable_params(module)
        if trained:
            yield module
        if not trained or layer_type(module) in {*self.GRAD_SAMPLERS, DPGRU, DPLSTM, DPRNN}:
            for part in module.children():
                yield from self.iterate_submodules(part)

    def _get_module_type(self, module: nn.Module) -> Any:
        return layer_type(module)

    def capture_activations_hook(self, module: Any, given: Any, output: Any) -> None:
        """Keep the inputs of a layer's call and count it, as Opacus does.

        Parameters of a sharded model are new in each pass.
        """
        if not (self.hooks_enabled and module.training and torch.is_grad_enabled()):
            return
        if not any(p is not None and p.requires_grad for p in module._parameters.values()):
            return
        if not hasattr(module, "activations"):
            module.activations = []
        module.activations.append([t.detach() for t in given])
        for parameter in _trained(module):
            parameter._forward_counter = getattr(parameter, "_forward_counter", 0) + 1

    def capture_backprops_hook(
        self, module: Any, _: Any, gradients: Any, loss_reduction: str, batch_first: bool
    ) -> None:
        """Compute gradients of examples when the backward pass reaches a layer, as Opacus does.

        Opacus copies them into zeros, because further calls of the layer may be added. They are
        kept as they are here, unless something else has their memory.
        """
        if not self.hooks_enabled:
            return
        inputs, found = self.rearrange_grad_samples(
            module=module,
            backprops=gradients[0].detach(),
            loss_reduction=loss_reduction,
            batch_first=batch_first,
        )
        rows = self.sampler(module)(module, inputs, found)
        others = {t.untyped_storage().data_ptr() for t in (found, *inputs)}
        for parameter, own in rows.items():
            _keep(parameter, own, module.max_batch_len, others)
        for parameter in _trained(module):
            parameter._forward_counter -= 1
            if parameter._forward_counter == 0:
                promote_current_grad_sample(parameter)
            if isinstance(parameter.grad_sample, list):
                raise PlanMismatch("Gradients of several batches were accumulated.")
        if not module.activations:
            del module.max_batch_len

    def sampler(self, layer: nn.Module) -> Any:
        """What computes the gradients of examples from a layer, its inputs and output gradients."""
        return self.GRAD_SAMPLERS.get(layer_type(layer), ft_compute_per_sample_gradient)

    def _attach(self) -> None:
        self.attached = True
        for part in self._module.modules():
            if any(p.requires_grad for p in part.parameters()):
                _ATTACHED[part] = ref(self)
            if isinstance(part, (DPGRU, DPLSTM, DPRNN)):
                handle = part.register_forward_pre_hook(_refuse_sorting)
                self.autograd_grad_sample_hooks.append(handle)
            if layer_type(part) is nn.Embedding and part.weight.requires_grad:
                handle = part.register_forward_pre_hook(self._repeat_indices)
                self.autograd_grad_sample_hooks.append(handle)

    def _repeat_indices(self, layer: nn.Module, given: tuple[Any, ...]) -> Any:
        """The layer's indices, a row for each example if there was one for all of them."""
        indices = given[0] if given else None
        if not (self.hooks_enabled and self.training and torch.is_grad_enabled()):
            return None
        if self.examples is None or self.examples < 2 or not isinstance(indices, torch.Tensor):
            return None
        if indices.ndim < 2 or len(indices) != 1:
            return None
        if self.probing:
            self._repeated.add(id(layer))
        elif id(layer) not in self._repeated:
            return None
        return (indices.expand(self.examples, *indices.shape[1:]), *given[1:])

    def rearrange_grad_samples(self, *, module: Any, **how: Any) -> Any:
        """Of one call of a layer: its inputs and the gradients of its output, by examples.

        Opacus gives the rows of a call that has fewer than another to the first examples. That is
        right for sequences of different lengths, and wrong for what all examples share.
        """
        inputs, gradients = super().rearrange_grad_samples(module=module, **how)
        if isinstance(module, nn.Embedding) and len(gradients) != module.max_batch_len:
            name = next(name for name, part in self._module.named_modules() if part is module)
            raise PlanMismatch(
                f"The layer {name} was looked up for {module.max_batch_len} examples and for "
                f"{len(gradients)} in the same batch; give it a row for each example, as in "
                "positions.expand(len(tokens), -1)."
            )
        return inputs, gradients

    @contextmanager
    def of_examples(self, size: int | None, *, probing: bool = True) -> Iterator[None]:
        """Calls inside are of so many examples; `probing` if the probe checks their gradients."""
        before = self.examples, self.probing
        self.examples, self.probing = size, probing
        try:
            yield
        finally:
            self.examples, self.probing = before

    def replayed(self, size: int, arguments: Any, options: Any) -> Any:
        """A forward pass for some examples of a recorded batch."""
        with self.of_examples(size):
            return self._module(*arguments, **options)

    def detach(self) -> None:
        """Take the hooks off; the model is an ordinary module again, which others may use."""
        if not self.attached:
            return
        self.attached = False
        forget_activations(self)
        self.cleanup()
        for part in self._module.modules():
            if (held := _ATTACHED.get(part)) is not None and held() is self:
                del _ATTACHED[part]

    @contextmanager
    def with_hooks(self) -> Iterator[None]:
        """With its hooks, also after `detach`; they are on one run's model at a time."""
        if self.attached:
            yield
            return
        free_module(self._module)
        self.add_hooks(loss_reduction="sum")
        self._attach()
        forget_gradients(self)
        forget_activations(self)
        try:
            yield
        finally:
            self.detach()


def _trained(layer: nn.Module) -> list[Any]:
    """The trained parameters of a layer and of its parts."""
    held: Any = layer.parameters() if layer._modules else layer._parameters.values()
    return [p for p in held if p is not None and p.requires_grad]


def _keep(parameter: Any, rows: torch.Tensor, size: int, others: set[int]) -> None:
    """The rows of one call, added to those of other calls of the batch, on the parameter."""
    if not parameter.requires_grad:
        return
    if len(rows) != size or not rows.is_contiguous() or hasattr(parameter, "_current_grad_sample"):
        create_or_accumulate_grad_sample(param=parameter, grad_sample=rows, max_batch_len=size)
        return
    # What is added later must change neither gradients on their way nor another parameter's rows.
    memory = rows.untyped_storage().data_ptr()
    parameter._current_grad_sample = rows.clone() if memory in others else rows.detach()
    others.add(memory)


def free_module(model: nn.Module) -> nn.Module:
    """The module itself, without hooks; `InvalidParameter` if a run that is not over has it.

    A run whose optimizer nobody holds any more cannot go on, and its hooks are taken off.
    """
    module: nn.Module = model._module if isinstance(model, PerSampleModule) else model
    for part in module.modules():
        held = _ATTACHED.get(part)
        if (holder := None if held is None else held()) is None:
            if isinstance(part, AbstractGradSampleModule) or hasattr(
                part, "autograd_grad_sample_hooks"
            ):
                allowed = "a module without Opacus' hooks; its to_standard_module() takes them off"
                raise InvalidParameter("model", allowed, type(part))
            continue
        if holder.owner() is not None:
            # A scheduler and its optimizer refer to each other.
            gc.collect()
        if holder.owner() is not None:
            allowed = (
                "in no other run: take all steps of that run, or end it by run.close() (which its "
                "optimizer has too), before the next one begins"
            )
            raise InvalidParameter("model", allowed, "one in an unfinished run")
        holder.detach()
    return module


def forget_gradients(model: nn.Module) -> None:
    """Drop the gradients on the model's parameters, of the sum and of examples."""
    for parameter in tensors_of(model, "_parameters"):
        parameter.grad = None
        parameter.grad_sample = None


def forget_activations(model: torch.nn.Module) -> None:
    """Drop what Opacus keeps of forward passes that no backward pass followed."""
    for layer in parts_of(model):
        held: dict[str, Any] = layer.__dict__
        if held.get("activations"):
            layer.activations = []
        if "max_batch_len" in held:
            del layer.max_batch_len
        for parameter in held["_parameters"].values():
            if parameter is not None:
                parameter._forward_counter = 0
                if hasattr(parameter, "_current_grad_sample"):
                    del parameter._current_grad_sample
