"""ChaCha20 against the test vectors of RFC 8439."""

from __future__ import annotations

import numpy as np
import pytest

from hockeystick._numerics.chacha20 import chacha20_blocks, initial_words

# Key, counter, nonce and keystream: sections 2.3.2 and A.1 (vectors 1, 2 and 4) of RFC 8439.
VECTORS = [
    (
        bytes(range(32)),
        1,
        "000000090000004a00000000",
        "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
        "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
    ),
    (
        bytes(32),
        0,
        "000000000000000000000000",
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    ),
    (
        bytes(32),
        1,
        "000000000000000000000000",
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
    ),
    (
        b"\x00\xff" + bytes(30),
        2,
        "000000000000000000000000",
        "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
        "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096",
    ),
]


def state_of(key, nonce):
    """The initial words for a key and a nonce in bytes."""
    state = initial_words(tuple(int(word) for word in np.frombuffer(key, "<u8")))
    state[13:] = np.frombuffer(bytes.fromhex(nonce), "<u4")
    return state


@pytest.mark.parametrize(("key", "counter", "nonce", "stream"), VECTORS)
def test_blocks_are_those_of_the_standard(key, counter, nonce, stream):
    """One block, and the same block among others."""
    for count in (1, 5, 64):
        counters = np.arange(counter, counter + count, dtype=np.uint32)[::-1].copy()
        out = np.empty((16, count), np.uint32)
        chacha20_blocks(state_of(key, nonce), counters, out)
        assert out[:, -1].astype("<u4").tobytes().hex() == stream
        assert len({column.tobytes() for column in out.T}) == count
