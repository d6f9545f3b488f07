"""What other tools call things, and what to write here: one table for Python and the commands."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from hockeystick.errors import UnknownParameter, shown

__all__ = [
    "FOREIGN",
    "MIGRATION",
    "Foreign",
    "foreign_name",
    "refuse_unknown_names",
    "refuse_unnamed",
    "the_way_out",
]

MIGRATION = "docs/coming-from-opacus.md"
_TARGET = (
    "calibrate takes the epsilon and the delta that are wanted; what a given noise guarantees is "
    "account(plan, noise_multiplier=...).epsilon(delta), or the command epsilon"
)
_RATE = "the probability of joining a step belongs to the sampling scheme, as in Poisson(rate=0.01)"
_NOISE = (
    "noise_multiplier, the standard deviation of the noise over the clip norm, is what account "
    "takes and calibrate finds"
)
_STEPS = "the number of updates belongs to the plan, as in Plan(sampling=..., steps=2000)"
_EPOCHS = "a plan takes steps: epochs * examples / batch_size, rounded up"
_EXAMPLES = (
    "the number of examples is needed to find a rate, as in "
    "Poisson.for_batch_size(500, examples=50_000), and to draw batches; epsilon does not depend "
    "on it"
)
_ADJACENCY = (
    "Plan(adjacency='add-remove'), the default, is about one example that is there or not, and "
    "Plan(adjacency='replace-one') about one that is replaced by another"
)
_CUT = (
    "a cap makes an example's participation depend on the others, and is a part of the scheme: "
    "Poisson(rate=..., max_batch_size=...), or its for_batch_size; physical_batch_size of "
    "make_private bounds the memory of a step and changes nothing else"
)
_PHYSICAL = "physical_batch_size of make_private splits a batch to bound the memory of a step"
_ORDERS = (
    "no orders are given: account chooses the tightest proven method, and method='renyi' searches "
    "its orders itself"
)
_METHOD = "method of account and calibrate names the analysis, by default the tightest proven one"
_CLIP = (
    "the clip norm is max_grad_norm of make_private and clip_norm of PrivateRun; epsilon depends "
    "on it only through noise_multiplier, noise over clip norm"
)
_LEARNING = "the learning rate belongs to the optimizer; epsilon does not depend on it"
_OPTIMIZER = (
    "epsilon does not depend on the optimizer; compare takes optimizer='sgd' or 'adam' "
    "(--optimizer adam), and make_private the optimizer itself"
)
_SAMPLING = (
    "how batches are drawn is the sampling of the plan, such as Poisson(rate=0.01), "
    "BallsInBins(bins=100) or FullBatch()"
)
_DATA = (
    "make_private takes the data set, draws the batches itself and returns the loader: "
    "model, optimizer, loader = run"
)
_RANDOM = "rng is a seed, a generator, 'chacha', or None for a seed from the operating system"
_SECURE = (
    'noise comes from the cipher ChaCha with a secret key by default; rng="chacha" takes 20 '
    "rounds, for batches as well (extra `crypto`)"
)
_MODE = "clipping of make_private is 'per-sample', 'ghost' or a rule such as hs.training.PerLayer"
_LOSS = "the loss is the mean over the batch, PyTorch's default reduction"
_ACCURACY = (
    "accuracy is the relative distance allowed between the upper and the lower bound on epsilon"
)
_BATCH = "batch_size is the expected size of a batch, as in Poisson.for_batch_size(500, examples=n)"
_SHAPE = "it belongs to the sampling scheme or the strategy of the plan"


class Foreign(NamedTuple):
    """A name of another tool: our name for it, if there is one, and where that belongs.

    Attributes
    ----------
    ours : str
        The parameter that it is called here; empty if there is none.
    says : str
        Where that belongs or what takes its place, without a full stop.
    page : str
        The page that says more.
    """

    ours: str
    says: str
    page: str = MIGRATION


def _named(names: str, ours: str, says: str, page: str = MIGRATION) -> dict[str, Foreign]:
    return dict.fromkeys(names.split(), Foreign(ours, says, page))


FOREIGN: dict[str, Foreign] = {
    **_named("target_epsilon target_eps eps epsilon dp_epsilon", "epsilon", _TARGET),
    **_named("target_delta delta dp_delta", "delta", _TARGET),
    **_named(
        "sample_rate sampling_rate sampling_probability sampling_prob subsampling_rate q prob p "
        "rate",
        "rate",
        _RATE,
    ),
    **_named(
        "sigma noise noise_std noise_scale noise_level stddev std noise_multipliers "
        "noise_multiplier",
        "noise_multiplier",
        _NOISE,
    ),
    **_named(
        "num_steps n_steps iterations num_iterations num_updates max_steps compositions "
        "num_compositions max_compositions steps",
        "steps",
        _STEPS,
    ),
    **_named("num_epochs n_epochs max_epochs epochs", "epochs", _EPOCHS),
    **_named(
        "dataset_size data_size num_samples num_examples n_samples n_examples sample_size n "
        "population num_records examples",
        "examples",
        _EXAMPLES,
    ),
    **_named(
        "adjacency neighboring_relation neighbouring_relation neighboring neighbors",
        "adjacency",
        _ADJACENCY,
        "docs/guarantees.md#neighbours-adjacency-unit-direction",
    ),
    **_named("max_batch_size truncated_batch_size batch_size_cap", "max_batch_size", _CUT),
    **_named(
        "max_physical_batch_size microbatch_size num_microbatches micro_batch_size",
        "physical_batch_size",
        _PHYSICAL,
    ),
    **_named("optimizer optimiser optim", "optimizer", _OPTIMIZER),
    **_named("alphas orders rdp_orders renyi_orders", "orders", _ORDERS),
    **_named("accountant accountant_type mechanism_type", "method", _METHOD),
    **_named(
        "l2_norm_clip clip_norm max_norm clipping_norm l2_clip l2_clip_norm clipping_threshold "
        "clipping_bound max_grad_norm",
        "max_grad_norm",
        _CLIP,
    ),
    **_named("lr learning_rate", "learning_rate", _LEARNING),
    **_named("poisson_sampling shuffle sampling_method replacement", "sampling", _SAMPLING),
    **_named("data_loader dataloader train_loader loader", "data", _DATA),
    **_named("noise_generator generator random_state seed", "rng", _RANDOM),
    **_named("secure_mode secure_rng", "", _SECURE, "docs/sharp-edges.md#secrets"),
    **_named("grad_sample_mode clipping_mode ghost_clipping", "clipping", _MODE),
    **_named("loss_reduction reduction", "reduction", _LOSS),
    **_named(
        "eps_error epsilon_tolerance tolerance tol rtol delta_error epsilon_error "
        "value_discretization_interval discretization grid_size mesh_size",
        "accuracy",
        _ACCURACY,
    ),
    **_named("batch batchsize expected_batch_size lot_size batch_size", "batch_size", _BATCH),
    **_named("bandwidth num_bands n_bands", "bands", _SHAPE),
    **_named("min_separation min_sep minimum_separation", "separation", _SHAPE),
    **_named("num_bins n_bins", "bins", _SHAPE),
    **_named("num_groups n_groups cycle_length", "groups", _SHAPE),
    **_named("max_part max_participation", "max_participations", _SHAPE),
}
"""By the name that was given; some are ours, for where they are given in the wrong place."""


def foreign_name(name: str) -> Foreign | None:
    """What is known about a name, of a parameter or an option; None if that is nothing."""
    return FOREIGN.get(name.strip("-").replace("-", "_").lower())


def the_way_out(
    name: str, known: Collection[str], *, spelled: Callable[[str], str] = str
) -> tuple[str, str]:
    """What to write in the place of an unknown name, and the page; two empty texts if unclear.

    Parameters
    ----------
    name
        What was given.
    known
        The names that would have been understood.
    spelled
        How a name is written: as a parameter, or as an option.
    """
    found = foreign_name(name)
    if found is not None and found.ours in known:
        return f"it is called {spelled(found.ours)} here", found.page
    if found is not None:
        return found.says, found.page
    close = difflib.get_close_matches(name, list(known), n=1)
    return (f"did you mean {spelled(close[0])}?", "") if close else ("", "")


def refuse_unknown_names(given: dict[str, Any], known: Collection[str], *, caller: str) -> None:
    """`UnknownParameter` for the first name that the caller does not take."""
    for name, value in given.items():
        if name not in known:
            instead, page = the_way_out(name, known)
            takes = instead or f"it takes {', '.join(known)}"
            raise UnknownParameter(name, value, caller=caller, instead=takes, page=page)


def refuse_unnamed(values: Sequence[object], names: Sequence[str], *, caller: str) -> None:
    """`UnknownParameter` for a value that has to be given by name, with the first name left."""
    for value, name in zip(values, names, strict=False):
        instead = f"write {name}={shown(value)}"
        raise UnknownParameter("without a name", value, caller=caller, instead=instead)
