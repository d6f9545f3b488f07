"""Noise that PyTorch draws where the parameters are, here on the CPU: that of any other path."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats
from torch.utils._python_dispatch import TorchDispatchMode

import hockeystick as hs
from hockeystick import strategies
from hockeystick._numerics.chacha import LANES, WORDS, cipher_head, random_words
from hockeystick.errors import InvalidParameter, PrecisionError
from hockeystick.randomness import Key
from hockeystick.strategies import normals
from hockeystick.torch import device_noise, noise_stream
from hockeystick.torch.device_noise import DeviceNoiseStream
from in_one_test import in_one_test
from pytorch import group_program as program

CPU, HEAD, STEPS = torch.device("cpu"), cipher_head(bytes(range(32))), 6
STRATEGIES = [
    strategies.identity(STEPS),
    strategies.bsr(STEPS, 3),
    strategies.bisr(STEPS, 4),
    strategies.blt(STEPS, 2),
    strategies.from_matrix(strategies.bsr(STEPS, 3).to_matrix() + np.tri(STEPS, k=-2) * 0.1),
]


def device_stream(strategy, size=1500, *, dtype="float32", rng=7, **settings):
    """Drawn by PyTorch."""
    return DeviceNoiseStream(
        strategy.recurrence,
        steps=strategy.steps,
        dimension=size,
        scale=1.5,
        dtype=dtype,
        rng=rng,
        device=CPU,
        **settings,
    )


@pytest.fixture
def forced(monkeypatch):
    """Streams for PyTorch are drawn by it, as if the CPU were another device."""
    monkeypatch.setattr(noise_stream, "drawing_device", lambda devices: devices[0])


@pytest.mark.parametrize("rounds", [8, 20])
@pytest.mark.parametrize(("place", "row"), [(0, 0), (3, 2**40 + 7), (2**50, 2**62 + 1)])
def test_words_are_those_of_the_cipher(place, row, rounds):
    """Bit for bit."""
    wanted = np.empty((WORDS, LANES), np.uint32)
    random_words(wanted, HEAD, place, row, rounds)
    blocks = torch.arange(place * LANES, (place + 1) * LANES)
    found = device_noise.device_words(HEAD, blocks, row, rounds=rounds)
    np.testing.assert_array_equal(found.numpy().view(np.uint32), wanted)


def drawn_twice(count, dtype, *, start=0, row=3, rounds=8):
    """Numbers by PyTorch, and those of the compiled kernels."""
    kernel = np.empty(count, dtype)
    normals.fill_normal(kernel, start, HEAD, step=row, rounds=rounds)
    found = device_noise.device_normals(
        HEAD,
        start,
        count,
        row=row,
        rounds=rounds,
        dtype=getattr(torch, np.dtype(dtype).name),
        device=CPU,
    )
    return found.numpy(), kernel


@in_one_test
@pytest.mark.parametrize(("dtype", "error"), [(np.float32, 2e-6), (np.float64, 1e-14)])
@pytest.mark.parametrize(("start", "count"), [(0, 2500), (1023, 2), (2**40 + 5, 700), (512, 512)])
def test_numbers_are_those_of_the_cpu(start, count, dtype, error):
    """Up to rounding, at any coordinates."""
    found, kernel = drawn_twice(count, dtype, start=start, rounds=8 + 12 * (start == 512))
    assert found.dtype == kernel.dtype
    np.testing.assert_allclose(found, kernel, rtol=0, atol=error)


def test_the_far_tail_is_the_same():
    """Where words are refined; there are some in four million numbers, and all of them agree."""
    found, kernel = drawn_twice(2**22, np.float32, row=9)
    far = np.abs(kernel) > 4.6
    assert far.sum() > 5
    np.testing.assert_allclose(found, kernel, rtol=0, atol=3e-6)
    # Without the refinement the tail would have these numbers, and differ.
    assert np.histogram(found, [-np.inf, -4.0, 4.0, np.inf])[0][[0, 2]].sum() > 100


def test_the_far_tail_of_double_precision(monkeypatch):
    """With every upper half of u zero, as it is once in 2^32 pairs."""
    wanted, words = np.empty(512), np.empty((WORDS, LANES), np.uint32)
    random_words(words, HEAD, 0, 3, 8)
    words.reshape(4, 256)[1] = 0
    further = np.empty((WORDS, LANES), np.uint32)
    random_words(further, HEAD, 0, 3 | normals.FURTHER, 8)
    normals._refine(wanted, words.reshape(normals.TILE), further)
    cipher = device_noise.device_words

    def small(head, blocks, row, *, rounds):
        found = cipher(head, blocks, row, rounds=rounds)
        if not row & normals.FURTHER:
            found.view(4, 4, -1)[1] = 0
        return found

    monkeypatch.setattr(device_noise, "device_words", small)
    found, _ = drawn_twice(512, np.float64)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-13)


def test_the_law():
    """Chi-square on a million numbers in 4,000 cells of equal probability."""
    found, _ = drawn_twice(10**6, np.float32, row=5)
    counts = np.histogram(found, stats.norm.ppf(np.linspace(0.0, 1.0, 4001)))[0]
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("strategy", STRATEGIES, ids=repr)
@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-5), ("float64", 1e-13)])
def test_streams_are_those_of_the_cpu(strategy, dtype, error, monkeypatch):
    """Every recurrence, in stretches too; and the memory is the same when no rows wait in it."""
    monkeypatch.setattr(device_noise, "LONGEST", 1024)
    wanted = strategy.noise(1500, scale=1.5, dtype=dtype, rng=7)
    found = device_stream(strategy, dtype=dtype)
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs, rtol=0, atol=error)
        if not wanted.head()["ahead"]:
            np.testing.assert_allclose(found.memory.numpy(), wanted.memory, rtol=0, atol=error)
    assert not wanted.head()["ahead"]


@pytest.mark.parametrize("strategy", [STRATEGIES[0], STRATEGIES[2]], ids=repr)
def test_replay(strategy):
    """The rows of a stream that remembers, bit for bit, without memory."""
    wanted, found = device_stream(strategy), device_stream(strategy, noise_memory="replay")
    for mine, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-6, atol=1e-7)
    assert found.memory.numel() == 0


@pytest.mark.parametrize("noise_memory", ["rows", "replay"])
def test_parts_of_the_vector(noise_memory):
    """Uneven ranges, and none at all, of the noise of the whole."""
    strategy = strategies.bisr(STEPS, 3)
    whole = [row.clone() for row in device_stream(strategy, noise_memory=noise_memory)]
    for ranges in ([(0, 7), (7, 900)], [(900, 901), (1100, 1500)], []):
        part = device_stream(strategy, noise_memory=noise_memory, coordinates=ranges)
        held = torch.cat([torch.arange(a, b) for a, b in ranges] or [torch.empty(0).long()])
        for mine, row in zip(part, whole, strict=True):
            assert torch.equal(mine, row[held])


@pytest.mark.parametrize(
    ("strategy", "noise_memory"),
    [
        (strategies.bisr(STEPS, 3), "rows"),
        (strategies.bisr(STEPS, 3), "replay"),
        (strategies.bsr(STEPS, 5), "rows"),
    ],
    ids=repr,
)
def test_states_go_from_device_to_device(strategy, noise_memory):
    """A stream on the CPU continues one that PyTorch drew, and the other way round.

    With five bands a row waits in the memory of the CPU's stream.
    """
    makers = (
        lambda seed: device_stream(strategy, rng=seed, noise_memory=noise_memory),
        lambda seed: strategy.noise(1500, scale=1.5, rng=seed, noise_memory=noise_memory),
    )
    wanted = np.array(list(makers[1](7)))
    for first, second in (makers, makers[::-1]):
        old, new = first(7), second(8)
        rows = [torch.as_tensor(next(old)).numpy().copy() for _ in range(3)]
        new.restore(old.state())
        rows += [torch.as_tensor(row).numpy() for row in new]
        np.testing.assert_allclose(rows, wanted, rtol=0, atol=1e-5)


def test_what_is_refused():
    """As on the CPU: noise that grows, states of other streams, memory that was lost."""
    with pytest.raises(PrecisionError, match="cannot be held in float32"):
        list(device_stream(strategies.from_coefficients([1.0, 2.0], 400), 3))
    stream = device_stream(STRATEGIES[1])
    with pytest.raises(InvalidParameter, match="recurrence"):
        stream.restore(device_stream(STRATEGIES[2]).state())
    next(stream)
    with pytest.raises(InvalidParameter, match="state"):
        stream.restore({**stream.state(), "memory": np.zeros((2, 1500), np.float32)})


class Watched(TorchDispatchMode):
    """Notes operations that move data between host and device, or begin with no device."""

    def __init__(self):
        super().__init__()
        self.moved, self.read = [], 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        """Called for every operation."""
        options = options or {}
        name = function._schema.name
        found = function(*arguments, **options)
        made = isinstance(found, torch.Tensor) and not any(
            isinstance(value, (torch.Tensor, list)) for value in arguments
        )
        size = found.numel() if isinstance(found, torch.Tensor) else 0
        if size > 12 and (
            (made and options.get("device") is None)
            or (
                name in ("aten::lift_fresh", "aten::_to_copy") and options.get("device") is not None
            )
        ):
            self.moved.append(name)
        self.read += name == "aten::_local_scalar_dense"
        return found


@pytest.mark.parametrize("noise_memory", ["rows", "replay"])
def test_nothing_large_is_copied(noise_memory, monkeypatch):
    """Of a row, the key's twelve words go to the device and its two extremes come back."""
    stream = device_stream(strategies.bisr(STEPS, 3), noise_memory=noise_memory)
    next(stream)
    monkeypatch.setattr(torch.Tensor, "numpy", None)
    monkeypatch.setattr(torch.Tensor, "cpu", None)
    with Watched() as watched:
        next(stream)
    assert watched.moved == []
    assert watched.read == 2


def test_the_cipher_runs_anywhere():
    """On a device without data, where anything that stays on the host is an error."""
    blocks = torch.arange(8, device="meta")
    assert device_noise.device_words(HEAD, blocks, 3, rounds=8).device.type == "meta"
    terms = STRATEGIES[3].recurrence.at(2, 1.0)
    row, memory = torch.zeros(5, device="meta"), torch.zeros(2, 5, device="meta")
    assert device_noise._advanced(row, memory, terms).device.type == "meta"


def test_numbers_begin_on_their_device():
    """Up to the search for the far tail, which needs data; on the host it would not end so."""
    with pytest.raises(NotImplementedError):
        device_noise.device_normals(
            HEAD, 0, 10, row=0, rounds=8, dtype=torch.float32, device=torch.device("meta")
        )


def test_which_device():
    """The CPU has kernels of its own; parameters on several devices get copies."""
    cuda, other = torch.device("cuda", 0), torch.device("cuda", 1)
    choose = noise_stream.drawing_device
    assert (choose([CPU, CPU]), choose([cuda, cuda]), choose([cuda, other])) == (None, cuda, None)


@pytest.mark.usefixtures("forced")
@pytest.mark.parametrize(
    ("plan", "noise_memory"), [("bsr", "rows"), ("bisr", "replay"), ("0.05", "rows")]
)
def test_runs_end_with_the_same_weights(plan, noise_memory, monkeypatch):
    """Empty batches included; within 1e-5 of the kernels' noise."""
    settings = ("plain", plan, "per-sample", None, noise_memory)
    found = program.updates(*settings)
    monkeypatch.undo()
    wanted = program.updates(*settings)
    assert found["weights"] == pytest.approx(wanted["weights"], abs=1e-5)
    assert found["memory"] == wanted["memory"]


def test_a_run_continues_elsewhere(tmp_path, monkeypatch):
    """Saved where PyTorch draws the noise, continued where the kernels do."""
    with monkeypatch.context() as patch:
        patch.setattr(noise_stream, "drawing_device", lambda devices: devices[0])
        whole = program.saved(str(tmp_path / "folder"), "plain")["weights"]
    run, model = program.made(seed=99)
    run.load(str(tmp_path / "folder"))
    assert run.taken_steps == 3
    program.train(run)
    assert program.weights(model) == pytest.approx(whole, abs=1e-5)


def test_streams_of_tensors(monkeypatch):
    """In the shapes and types of the parameters; half precision has single-precision noise."""
    monkeypatch.setattr(noise_stream, "drawing_device", lambda devices: devices[0])
    plan = hs.Plan(sampling=hs.Poisson(rate=0.1), steps=2)
    like = [torch.zeros(3, 4, dtype=torch.bfloat16), torch.zeros(()), torch.zeros(0, 5)]
    stream = hs.torch.TorchNoiseStream(
        plan, like, noise_multiplier=2.0, max_grad_norm=0.5, rng=Key.of(3)
    )
    assert isinstance(stream._rows, DeviceNoiseStream)
    row = next(stream)
    assert [(tuple(t.shape), t.dtype) for t in row] == [
        ((3, 4), torch.float32),
        ((), torch.float32),
        ((0, 5), torch.float32),
    ]
    wanted = next(plan.noise(13, scale=1.0, rng=Key.of(3)))
    np.testing.assert_allclose(torch.cat([t.flatten() for t in row]).numpy(), wanted, atol=2e-6)
