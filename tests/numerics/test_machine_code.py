"""Machine code that Numba made once: loaded without it, made again when it does not fit."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from hockeystick._numerics.machine_code import MachineCode

ASK = """
import sys
import hockeystick as hs
plan = hs.Plan(sampling=hs.Poisson(rate=0.01), steps=100)
print(repr(hs.account(plan, noise_multiplier=1.2).epsilon(1e-5)), "numba" in sys.modules)
"""


def _scale(size, factor, values, out):
    for i in range(size):
        out[i] = factor * values[i]


def scaled(code):
    """What the compiled function makes of three numbers."""
    out = np.zeros(3)
    code(3, 2, np.array([1.0, 2.5, -1.0]), out)
    return out.tolist()


def ask(folder):
    """Epsilon, and whether Numba was imported, with machine code kept in the folder."""
    done = subprocess.run(
        [sys.executable, "-c", ASK],
        capture_output=True,
        text=True,
        check=True,
        env={"NUMBA_CACHE_DIR": str(folder), "PATH": "", "PYTHONPATH": ":".join(sys.path)},
    )
    epsilon, numba = done.stdout.split()
    return epsilon, numba == "True"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Numba compiles in every process")
def test_the_second_process_needs_no_numba(tmp_path):
    """The same number to the last bit; with a damaged file it is compiled anew."""
    first = ask(tmp_path)
    (kept,) = tmp_path.rglob("*.machine-code")
    assert ask(tmp_path) == (first[0], False)
    content = bytearray(kept.read_bytes())
    content[-1] ^= 1
    kept.write_bytes(content)
    assert ask(tmp_path) == (first[0], True)
    assert kept.read_bytes() != bytes(content)
    assert first[1]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Numba compiles in every process")
def test_it_is_kept_and_loaded(tmp_path, monkeypatch):
    """Made by one object, loaded by another; without a place to keep it, it works all the same."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "new"))
    made = MachineCode(_scale, "iipp")
    assert scaled(made) == [2.0, 5.0, -2.0]
    loaded = MachineCode(_scale, "iipp")
    monkeypatch.setattr(loaded, "_made", None)
    assert scaled(loaded) == [2.0, 5.0, -2.0]
    monkeypatch.setenv("NUMBA_CACHE_DIR", "/dev/null/nowhere")
    assert scaled(MachineCode(_scale, "iipp")) == [2.0, 5.0, -2.0]


def test_what_is_no_array_of_doubles_is_refused():
    """Pointers are taken from contiguous doubles only."""
    code = MachineCode(_scale, "iipp")
    for wrong in (np.zeros(3, dtype=np.float32), np.zeros(6)[::2]):
        with pytest.raises(TypeError, match="contiguous doubles"):
            code(3, 2, wrong, np.zeros(3))
    with pytest.raises(TypeError, match="2 arguments for iipp"):
        code(3, 2)
