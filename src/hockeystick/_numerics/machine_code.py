"""Compiled loops that need no Numba to start: the machine code that it made once is kept.

Importing Numba and waking one of its functions takes half a second of CPU time, which is more than
everything else in a short call. What is kept is the object file of one function of integers and of
pointers to doubles; LLVM loads it in a few milliseconds. Where that does not work, Numba compiles
the function in every process; the code, and so every number, is the same.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["MachineCode"]

# Of SHA-256, before the code in a file.
DIGEST_BYTES = 32
# What LLVM resolves by name when it loads a function that Numba made. None of it is reached by a
# function that neither allocates nor raises.
SYMBOLS = {
    "numba_gil_ensure": "PyGILState_Ensure",
    "numba_gil_release": "PyGILState_Release",
    "NRT_MemInfo_call_dtor": "PyErr_Clear",
    "PyErr_Clear": "PyErr_Clear",
    "PyErr_SetNone": "PyErr_SetNone",
    "PyErr_SetString": "PyErr_SetString",
    "PyErr_WriteUnraisable": "PyErr_WriteUnraisable",
    "PyUnicode_FromString": "PyUnicode_FromString",
    "Py_DecRef": "Py_DecRef",
}


class MachineCode:
    """A compiled function without a result.

    Parameters
    ----------
    function
        The loop in Python: it only reads and writes elements, and never allocates or raises.
    signature
        A letter for each argument: `i` for an integer, `p` for contiguous doubles, which the
        function may read, or write where the caller says so.
    """

    def __init__(self, function: Callable[..., None], signature: str) -> None:
        self.function, self.signature = function, signature
        self._lock = Lock()
        self._keep: list[Any] = []

    def __call__(self, *arguments: int | npt.NDArray[np.float64]) -> None:
        """Run it; the interpreter is free meanwhile."""
        if len(arguments) != len(self.signature):
            raise TypeError(f"{len(arguments)} arguments for {self.signature}")
        pairs = zip(self.signature, arguments, strict=True)
        self._compiled(*(_pointer(one) if kind == "p" else one for kind, one in pairs))

    @cached_property
    def _compiled(self) -> Any:
        types = {"i": ctypes.c_ssize_t, "p": ctypes.c_void_p}
        prototype = ctypes.CFUNCTYPE(None, *(types[kind] for kind in self.signature))
        with self._lock:
            return prototype(self._address())

    def _address(self) -> int:
        places: list[Path] = []
        # Whatever is wrong with what was kept, or with keeping it: it can be made again.
        with suppress(Exception):
            places += self._places() if sys.platform == "linux" else ()
        for place in places:
            with suppress(Exception):
                return self._loaded(place)
        return self._made(places)

    def _places(self) -> Iterator[Path]:
        """Where the code may be kept; the name says for which source, compiler and processor."""
        import llvmlite.binding as llvm

        source = Path(self.function.__code__.co_filename)
        numba = importlib.util.find_spec("numba")
        if numba is None or numba.origin is None:
            return
        version = Path(numba.origin).with_name("_version.py")
        parts = [source.read_bytes(), Path(__file__).read_bytes(), version.read_bytes()]
        parts += [sys.version.encode(), platform.machine().encode(), self.signature.encode()]
        parts += [llvm.get_host_cpu_name().encode()]
        parts += [llvm.get_host_cpu_features().flatten().encode()]
        key = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
        name = f"{self.function.__name__}-{key[:24]}.machine-code"
        if chosen := os.environ.get("NUMBA_CACHE_DIR"):
            yield Path(chosen) / name
            return
        yield source.parent / "__pycache__" / name
        own = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        yield Path(own) / "hockeystick" / name

    def _loaded(self, place: Path) -> int:
        """The address of the function after its code was read."""
        import llvmlite.binding as llvm

        content = place.read_bytes()
        digest, rest = content[:DIGEST_BYTES], content[DIGEST_BYTES:]
        if hashlib.sha256(rest).digest() != digest:
            raise ValueError(f"{place} is damaged")
        name, _, code = rest.partition(b"\0")
        for symbol, target in SYMBOLS.items():
            pointer = ctypes.cast(getattr(ctypes.pythonapi, target), ctypes.c_void_p)
            llvm.add_symbol(symbol, pointer.value)
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
        engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = engine.get_function_address(name.decode())
        if not address:
            raise ValueError(f"{place} has no function")
        self._keep.append(engine)
        return int(address)

    def _made(self, places: list[Path]) -> int:
        """The address after compiling; the code is kept at the first place that takes it."""
        import numba

        types: Any = numba.types
        kinds = {"i": types.intp, "p": types.CPointer(types.float64)}
        signature = types.void(*(kinds[kind] for kind in self.signature))
        compiled: Any = numba.cfunc(signature)(self.function)
        self._keep.append(compiled)
        # Not among the public names of Numba: without them every process compiles.
        with suppress(AttributeError, TypeError, ValueError):
            name = compiled.native_name
            code = compiled._library.serialize_using_object_code()[2][0]
            _write(places, name.encode() + b"\0" + code)
        return int(compiled.address)


def _pointer(values: Any) -> int:
    if values.dtype != np.float64 or not values.flags.c_contiguous:
        raise TypeError("contiguous doubles are needed")
    return int(values.ctypes.data)


def _write(places: list[Path], content: bytes) -> None:
    """The file appears complete or not at all, and not where nothing can be written."""
    import tempfile

    for place in places:
        with suppress(OSError):
            place.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=place.parent, delete=False) as file:
                file.write(hashlib.sha256(content).digest() + content)
            Path(file.name).chmod(0o644)
            Path(file.name).replace(place)
            return
