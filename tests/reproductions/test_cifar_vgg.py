"""CIFAR-10 from a folder that was made up, in the format of the real one."""

from __future__ import annotations

import io
import json
import os
import pickle

import numpy as np
import pytest

import cifar_files
from hockeystick.errors import InvalidParameter

PER_FILE = 8


def labelled(rng):
    """One file's content: noise whose first pixels tell the class."""
    labels = rng.integers(10, size=PER_FILE)
    pixels = rng.integers(256, size=(PER_FILE, 3072), dtype=np.uint8)
    pixels[:, :64] = 25 * labels[:, None]
    return pixels, labels


def as_python_2_wrote_it(pixels, labels):
    """The opcodes of the real files: names are bytes, the array is rebuilt from a state."""
    file = io.BytesIO()
    raw = pixels.tobytes()
    file.write(b"\x80\x02}(U\x04data")
    file.write(b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R")
    file.write(b"(K\x01" + b"".join(b"M" + n.to_bytes(2, "little") for n in pixels.shape) + b"\x86")
    file.write(b"cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xff")
    file.write(b"J\xff\xff\xff\xffK\x00tb\x89T" + len(raw).to_bytes(4, "little") + raw + b"tb")
    file.write(b"U\x06labels](" + b"".join(b"K" + bytes([label]) for label in labels) + b"eu.")
    return file.getvalue()


@pytest.fixture
def folder(tmp_path):
    """Six files: the first as Python 2 wrote it, the others as Python 3 does."""
    rng = np.random.default_rng(5)
    for i, name in enumerate(cifar_files.TRAIN + cifar_files.TEST):
        pixels, labels = labelled(rng)
        content = {b"data": pixels, b"labels": labels.tolist(), b"batch_label": b"made up"}
        written = as_python_2_wrote_it(pixels, labels) if i == 0 else pickle.dumps(content, 2)
        (tmp_path / name).write_bytes(written)
    return tmp_path


def test_images_are_those_that_were_written(folder):
    """All files in order, colours and classes unchanged; also by columns."""
    rng = np.random.default_rng(5)
    expected = [labelled(rng) for _ in cifar_files.TRAIN]
    found = cifar_files.read_images(folder, cifar_files.TRAIN)
    assert found.pixels.shape == (5 * PER_FILE, 3, 32, 32)
    for i, (pixels, labels) in enumerate(expected):
        part = slice(i * PER_FILE, (i + 1) * PER_FILE)
        np.testing.assert_array_equal(found.pixels[part].reshape(PER_FILE, -1), pixels)
        np.testing.assert_array_equal(found.labels[part], labels)
    pixels, labels = expected[0]
    turned = {"data": np.asfortranarray(pixels), "labels": labels.tolist()}
    (folder / "turned").write_bytes(pickle.dumps(turned, 2))
    again = cifar_files.read_images(folder, ("turned",))
    np.testing.assert_array_equal(again.pixels.reshape(PER_FILE, -1), pixels)


def test_a_folder_of_arrays(folder, tmp_path):
    """What `hockeystick data cifar10` writes is read in the place of the files."""
    made = tmp_path / "arrays"
    made.mkdir()
    for part, names in (("train", cifar_files.TRAIN), ("test", cifar_files.TEST)):
        images = cifar_files.read_images(folder, names)
        np.save(made / f"{part}_images.npy", images.pixels)
        np.save(made / f"{part}_labels.npy", images.labels)
        again = cifar_files.read_images(made, names)
        np.testing.assert_array_equal(again.pixels, images.pixels)
        np.testing.assert_array_equal(again.labels, images.labels)


def test_a_hostile_file_runs_nothing(folder, tmp_path):
    """A pickle that calls a function is refused by the function's name, and does not call it."""
    trace = tmp_path / "trace"

    class Hostile:
        def __reduce__(self):
            return os.mkdir, (str(trace),)

    (folder / "test_batch").write_bytes(pickle.dumps({b"data": Hostile(), b"labels": []}, 2))
    with pytest.raises(InvalidParameter, match=r"posix\.mkdir|nt\.mkdir"):
        cifar_files.read_images(folder, cifar_files.TEST)
    assert not trace.exists()


@pytest.mark.parametrize(
    "content",
    [
        b"no pickle",
        pickle.dumps({b"data": np.zeros((2, 3072), np.uint8), b"labels": [0]}, 2),
        pickle.dumps({b"data": np.zeros((1, 3072), np.uint8), b"labels": [10]}, 2),
        pickle.dumps({b"data": np.zeros((1, 3072)), b"labels": [0]}, 2),
        pickle.dumps({b"data": np.zeros((1, 3071), np.uint8), b"labels": [0]}, 2),
        pickle.dumps([1, 2], 2),
    ],
    ids=["text", "lengths", "class", "floats", "pixels", "list"],
)
def test_other_files_are_refused(folder, content):
    """One sentence with the file's name."""
    (folder / "test_batch").write_bytes(content)
    with pytest.raises(InvalidParameter, match="test_batch"):
        cifar_files.read_images(folder, cifar_files.TEST)


def test_a_missing_file(folder):
    """The files that are needed are named."""
    (folder / "data_batch_3").unlink()
    with pytest.raises(InvalidParameter, match="data_batch_1 to 5"):
        cifar_files.read_images(folder, cifar_files.TRAIN)


@pytest.mark.slow
def test_small_mode(folder, tmp_path, capsys):
    """Every scheme trains a VGG network, for four steps."""
    import cifar_vgg

    output = tmp_path / "output"
    assert cifar_vgg.run(["--data", str(folder), "--small", "--output", str(output)]) == 0
    assert "CIFAR-10, VGG, 4 steps with batches of 9 of 36" in capsys.readouterr().out
    entries = json.loads((output / "cifar_vgg.json").read_text())["panels"][0]["entries"]
    assert len(entries) == 4
    assert all(0 <= value <= 1 for entry in entries for value in entry["accuracies"])


def test_the_network_and_its_learning_rate():
    """As the docstrings say."""
    import cifar_vgg

    assert sum(p.numel() for p in cifar_vgg.vgg().parameters()) == 551_466
    found = [cifar_vgg.slower(step) for step in (0, 500, 1_000, 1_500, 1_999)]
    assert found == pytest.approx([1, 1, 0.525, 0.05, 0.05])


@pytest.mark.parametrize(
    ("words", "name"), [([], "data"), (["--data", "nowhere", "--seeds", "1"], "seeds")]
)
def test_bad_options(words, name):
    """A folder is required, and several seeds."""
    import cifar_vgg

    with pytest.raises(InvalidParameter, match=name):
        cifar_vgg.run(words)
