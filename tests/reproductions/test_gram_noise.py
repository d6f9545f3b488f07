"""Noise against epsilon with `gram`, in small mode."""

from __future__ import annotations

import json

import pytest

import gram_noise
from noise_against_epsilon import ESTIMATE

# Noises are found to 0.2 % of epsilon.
SEARCHED = 1.005


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    """What the script writes in small mode."""
    directory = tmp_path_factory.mktemp("gram_noise")
    assert gram_noise.main(["--small", "--output", str(directory)]) == 0
    assert (directory / "gram_noise.png").stat().st_size > 10_000
    return json.loads((directory / "gram_noise.json").read_text())


@pytest.mark.slow
def test_the_estimate_lies_between_the_two_bounds(content):
    """Above what is too little and below what is enough, but for its error."""
    for panel in content["panels"]:
        curves = {line["label"]: line for line in panel["curves"]}
        estimate = curves[ESTIMATE]
        assert estimate["x"] == curves["gram"]["x"] == curves[gram_noise.LOWER]["x"]
        for i, (noise, error) in enumerate(zip(estimate["y"], estimate["error"], strict=True)):
            assert 0 < error < 0.05 * noise
            assert curves[gram_noise.LOWER]["y"][i] <= (noise + 2 * error) * SEARCHED
            assert noise - 2 * error <= curves["gram"]["y"][i] * SEARCHED


@pytest.mark.slow
def test_every_proven_noise_is_above_the_bound_from_below(content):
    """All methods, `conditional` at fewer epsilons."""
    for panel in content["panels"]:
        curves = {line["label"]: line for line in panel["curves"]}
        lower = curves[gram_noise.LOWER]
        least = dict(zip(lower["x"], lower["y"], strict=True))
        for method in ("gram", "renyi", "conditional"):
            line = curves[method]
            assert line["x"]
            for epsilon, noise in zip(line["x"], line["y"], strict=True):
                assert noise > least[epsilon]
