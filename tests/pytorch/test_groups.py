"""Several processes are one run, with the updates, noise and charges of a single process."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy import stats

import hockeystick as hs
from pytorch import group_program as program
from pytorch.groups import found_by, printed_by, run_jobs, run_torchrun

# Processes that import PyTorch; `make test` runs them.
pytestmark = pytest.mark.slow

# Wrapping, plan, clipping, physical batch size, noise memory.
UPDATES = {
    2: [
        ("plain", "bsr", "per-sample", None, "rows"),
        ("plain", "0.05", "ghost", 1, "rows"),
        ("ddp", "bsr", "ghost", 3, "rows"),
        ("sharded", "bsr", "per-sample", 3, "rows"),
        ("sharded", "bsr", "ghost", None, "rows"),
        ("sharded", "0.05", "per-sample", None, "rows"),
        ("sharded", "bisr", "ghost", None, "replay"),
    ],
    3: [
        ("plain", "bsr", "ghost", 2, "rows"),
        ("ddp", "0.05", "per-sample", None, "rows"),
        ("sharded", "bsr", "per-sample", None, "rows"),
        ("sharded", "0.05", "ghost", 1, "rows"),
    ],
}
# Two ranks whose noise PyTorch draws.
ON_DEVICES = [
    ("plain", "bsr", "per-sample", None, "rows"),
    ("sharded", "bisr", "per-sample", None, "replay"),
]
# Wrapping, plan, clipping, with exact arithmetic.
EXACT = {
    2: [("plain", "bsr", "per-sample"), ("sharded", "bsr", "ghost")],
    3: [("plain", "0.05", "ghost"), ("sharded", "bsr", "per-sample")],
}
# Wrapping, clipping and arithmetic of runs whose settings change.
ADAPTED = {
    2: [("plain", "ghost", "exact"), ("sharded", "per-sample", "float")],
    3: [("plain", "per-sample", "float")],
}
# What is refused, and what the first and the last rank say.
REFUSED = {
    ("other_noise",): ("noise_multiplier is not the same", "noise_multiplier is not the same"),
    ("other_model",): ("the model is not the same", "the model is not the same"),
    ("other_data", "last"): ("example 57 of the data set is", "example 57 of the data set is"),
    ("other_data", "stream"): ("example 0 of the data set is", "example 0 of the data set is"),
    ("one_refuses",): ("Rank 1 makes no run: max_grad_norm", "max_grad_norm must be"),
    ("forgotten_backward",): ("Rank 1 has ended the run", "There is no clipped gradient"),
    ("mixing", "plain"): ("influence each other", "influence each other"),
    ("mixing", "sharded"): ("influence each other", "influence each other"),
    ("individual",): ("one budget for all examples", "one budget for all examples"),
    ("parallel_call",): ("call run.model in the loop", "call run.model in the loop"),
}
# Folders: of which ranks, how wrapped, with which optimizer.
FOLDERS = {"one": (1, "plain", False), "two": (2, "sharded", False), "three": (3, "plain", True)}
# How the run is wrapped that ends in the fourth step: the last of two ranks dies, all three do.
DYING = {2: ("plain", False), 3: ("sharded", True)}


def dying_case(base, ranks):
    """Step, wrapping, folder, ledger, and whether the whole group dies."""
    wrapping, whole_group = DYING[ranks]
    folder = base / f"dying{ranks}"
    return ["dying", 4, wrapping, str(folder), f"{folder}.db", whole_group]


@pytest.fixture(scope="module")
def charged_alone(tmp_path_factory):
    """One process that nobody interrupts."""
    return program.charged(str(tmp_path_factory.mktemp("alone") / "alone.db"), "plain")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """What two and three ranks found, each started once; the value of a case, for each rank.

    Each number of ranks saves a folder, and continues that of another. In the last case a rank
    dies. Two ranks run the script of the page.
    """
    base = tmp_path_factory.mktemp("groups")
    names = {name: str(base / name) for name in FOLDERS}
    alone = program.saved(names["one"], "plain")
    cases = {
        2: [
            *(["updates", *case] for case in UPDATES[2]),
            *(["drawn_by_torch", *case] for case in ON_DEVICES),
            *(["exact_updates", *case] for case in EXACT[2]),
            *(list(case) for case in REFUSED),
            ["other_data", "flipped"],
            *(
                ["exact_updates", "sharded", plan, "ghost", str(base / f"exact-{plan}"), "first"]
                for plan in ("bsr", "bisr")
            ),
            *(["adapted", *case] for case in ADAPTED[2]),
            ["other_change"],
            ["noise_rows", "plain"],
            ["noise_rows", "sharded"],
            ["charged", str(base / "two.db"), "plain", 2, str(base / "charged")],
            ["saved", names["two"], "sharded"],
            ["continued", names["one"], "sharded"],
        ],
        3: [
            *(["updates", *case] for case in UPDATES[3]),
            *(["exact_updates", *case] for case in EXACT[3]),
            *(
                ["exact_updates", "plain", plan, "ghost", str(base / f"exact-{plan}"), "rest"]
                for plan in ("bsr", "bisr")
            ),
            *(["adapted", *case] for case in ADAPTED[3]),
            ["continued_charges", str(base / "two.db"), str(base / "charged"), "sharded"],
            ["continued_charges", str(base / "dying2.db"), str(base / "dying2"), "sharded"],
            ["saved", names["three"], "plain", "bsr", 3, True],
            ["continued", names["two"], "ddp"],
        ],
    }
    jobs = {}
    for ranks, some in cases.items():
        some.append(dying_case(base, ranks))
        jobs[ranks] = {"ranks": ranks, "cases": some, "folder": str(base / f"ranks{ranks}")}
    page = base / "page"
    page.mkdir()
    (page / "train.py").write_text(script_of_the_page())
    jobs["page"] = {"ranks": 2, "script": "train.py", "folder": str(page)}
    run_jobs(list(jobs.values()))
    results = {}
    for ranks, some in cases.items():
        outcomes = found_by(jobs[ranks])
        for number, case in enumerate(some):
            found = [dict(enumerate(of_rank)).get(number) for of_rank in outcomes]
            results[ranks, *map(str, case)] = found

    def look_up(ranks, *case):
        return results[ranks, *map(str, case)]

    look_up.folder, look_up.base, look_up.alone = names, base, alone
    look_up.page = jobs["page"]
    return look_up


@pytest.mark.parametrize(("ranks", "case"), [(n, c) for n, some in UPDATES.items() for c in some])
def test_updates_are_those_of_one_process(found, ranks, case):
    """Within 1e-5, on every rank; all ranks together probe, and remember noise, as one."""
    alone, together = program.updates(*case), found(ranks, "updates", *case)
    for of_rank in together:
        assert of_rank["value"]["weights"] == pytest.approx(alone["weights"], abs=1e-5)
        assert of_rank["value"]["probed"] >= 2
    assert sum(of_rank["value"]["memory"] for of_rank in together) == alone["memory"]


@pytest.mark.parametrize("case", ON_DEVICES)
def test_noise_on_devices_is_that_of_one_process(found, case):
    """Drawn by PyTorch on two ranks, by the kernels on one."""
    alone, together = program.updates(*case), found(2, "drawn_by_torch", *case)
    for of_rank in together:
        assert of_rank["value"]["weights"] == pytest.approx(alone["weights"], abs=1e-5)


@pytest.mark.parametrize(("ranks", "case"), [(n, c) for n, some in EXACT.items() for c in some])
def test_exact_updates_are_those_of_one_process_bit_for_bit(found, ranks, case):
    """Sums of integers do not depend on who adds them."""
    alone, together = program.exact_updates(*case), found(ranks, "exact_updates", *case)
    for of_rank in together:
        assert torch.equal(of_rank["value"]["weights"], alone["weights"])
        assert of_rank["value"]["type"] == "torch.int32"
    assert sum(of_rank["value"]["memory"] for of_rank in together) == alone["memory"]


@pytest.mark.parametrize("plan", ["bsr", "bisr"])
def test_exact_runs_continue_with_another_number_of_ranks_bit_for_bit(found, plan):
    """Two ranks with sharded parameters, then three with whole ones: the bits of one process.

    One process continues what the two have saved as well.
    """
    alone, folder = program.exact_updates("plain", plan, "ghost"), found.base / f"exact-{plan}"
    for of_rank in found(3, "exact_updates", "plain", plan, "ghost", folder, "rest"):
        assert torch.equal(of_rank["value"]["weights"], alone["weights"])
    single = program.exact_updates("plain", plan, "ghost", folder, "rest")
    assert torch.equal(single["weights"], alone["weights"])


@pytest.mark.parametrize("wrapping", ["plain", "sharded"])
def test_noise_is_added_once(found, wrapping):
    """On a million coordinates, C times the rows are independent normals of the right variance."""
    results = found(2, "noise_rows", wrapping)
    matrix = hs.strategies.bsr(4, bands=3).to_matrix()
    rows = matrix @ results[0]["value"]["rows"].double().numpy()
    size = rows.shape[1]
    assert size == 10**6
    for row in rows:
        # A sum of squares of n normals has the standard deviation sqrt(2 n).
        assert (row @ row - size) / np.sqrt(2 * size) == pytest.approx(0.0, abs=5.0)
        # The law, in a hundred cells of the same probability.
        cells = np.floor(stats.norm.cdf(row) * 100).astype(int)
        assert stats.chisquare(np.bincount(cells, minlength=100)).pvalue > 1e-4
    for one, other in itertools.combinations(rows, 2):
        assert one @ other / np.sqrt(size) == pytest.approx(0.0, abs=5.0)
    for one in rows:
        # Neither do neighbours, or the parts of two ranks, have anything to do with each other.
        assert one[1:] @ one[:-1] / np.sqrt(size) == pytest.approx(0.0, abs=5.0)
        assert one[: size // 2] @ one[size // 2 :] / np.sqrt(size / 2) == pytest.approx(0, abs=5.0)
    assert torch.equal(results[0]["value"]["rows"], results[1]["value"]["rows"])
    for of_rank in results:
        assert of_rank["value"]["memory"] <= 1.1 * 2 * size / 2


def test_the_noise_is_that_of_one_process(found):
    """Bit for bit: it belongs to coordinates, not to ranks."""
    alone = program.noise_rows("plain")["rows"]
    for wrapping in ("plain", "sharded"):
        assert torch.equal(found(2, "noise_rows", wrapping)[0]["value"]["rows"], alone)


@pytest.mark.parametrize("case", REFUSED)
def test_a_refusal_ends_the_run_on_all_ranks(found, case):
    """With one sentence that names the cause."""
    for of_rank, expected in zip(found(2, *case), REFUSED[case], strict=True):
        assert expected in of_rank["refused"]


def test_augmentation_is_no_other_data(found):
    """Examples that differ between readings are not compared."""
    assert [of_rank["value"] for of_rank in found(2, "other_data", "flipped")] == [0, 0]


@pytest.mark.parametrize(
    ("ranks", "case"),
    [(2, ("one", "sharded")), (3, ("two", "ddp"))],
)
def test_another_number_of_ranks_continues(found, ranks, case):
    """From the third step to the weights, and the statement, of an uninterrupted run."""
    folder, wrapping = case
    stated = program.epsilon(program.made()[0], method="gaussian")
    for of_rank in found(ranks, "continued", found.folder[folder], wrapping):
        assert of_rank["value"]["from"] == 3
        assert of_rank["value"]["weights"] == pytest.approx(found.alone["weights"], abs=1e-5)
        assert of_rank["value"]["epsilon"] == stated


@pytest.mark.parametrize(("folder", "adam"), [("two", False), ("three", True)])
def test_one_process_continues(found, folder, adam):
    """A folder that ranks have saved, with the state of their optimizer."""
    ranks, wrapping, _ = FOLDERS[folder]
    options = ["bsr", 3, True] if adam else []
    whole = found(ranks, "saved", found.folder[folder], wrapping, *options)[0]["value"]["weights"]
    now = program.continued(found.folder[folder], "plain", adam=adam)
    assert now["from"] == 3
    assert now["weights"] == pytest.approx(whole, abs=1e-5)


def test_a_folder_is_for_its_owner(found):
    """Noise and batches follow from it."""
    for folder in found.folder.values():
        assert Path(folder).stat().st_mode & 0o077 == 0


def without_number(stated):
    """A statement without the number of its budget, which each ledger gives itself."""
    described = dict(stated["filter"])
    assert described.pop("budget_id")
    return {**stated, "filter": described}


def assert_same_run(found, alone):
    """Weights, statement and, on the first rank, every entry of the ledger."""
    for of_rank in found:
        assert of_rank["weights"] == pytest.approx(alone["weights"], abs=1e-5)
        for name in ("taken", "stopped"):
            assert of_rank[name] == alone[name]
        assert without_number(of_rank["stated"]) == without_number(alone["stated"])
    assert found[0]["entries"] == alone["entries"]
    assert len({of_rank["run"] for of_rank in found}) == 1


def test_charges_are_made_once(found, charged_alone):
    """Two ranks, then three, spend what one process spends, and end at the same step."""
    assert charged_alone["stopped"] == "filter"
    first = found(2, "charged", found.base / "two.db", "plain", 2, found.base / "charged")
    last = found(3, "continued_charges", found.base / "two.db", found.base / "charged", "sharded")
    assert len(first[0]["value"]["entries"]) == 2
    assert_same_run([of_rank["value"] for of_rank in last], charged_alone)
    # One number for all ranks, and for those that continue.
    assert {one["value"]["run"] for one in first} == {one["value"]["run"] for one in last}


def test_a_rank_that_dies_ends_the_run(found, charged_alone):
    """One sentence on the other. Three ranks take two steps once more, and charge them once."""
    other, dead = found(2, *dying_case(found.base, 2))
    assert dead is None
    assert "has died or left the run" in other["refused"]
    folder, ledger = found.base / "dying2", found.base / "dying2.db"
    restored = found(3, "continued_charges", ledger, folder, "sharded")
    assert_same_run([of_rank["value"] for of_rank in restored], charged_alone)


def test_a_group_that_dies(found, charged_alone):
    """One process ends with the weights, the ledger and the statement of an uninterrupted run."""
    assert found(3, *dying_case(found.base, 3)) == [None] * 3
    folder, ledger = found.base / "dying3", found.base / "dying3.db"
    (before,) = hs.ledger.read_ledger(ledger)
    assert [entry.status for entry in before.entries] == ["committed"] * 4
    restored = program.continued_charges(str(ledger), str(folder), "plain")
    assert_same_run([restored], charged_alone)
    assert hs.ledger.audit(ledger)[0].problems == []


def script_of_the_page():
    """docs/training.md, as it stands there."""
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text()
    (script,) = re.findall(r'```python title="torchrun"\n(.*?)```', page, re.DOTALL)
    return script


STATED = r"epsilon 2\.\d+ after 10 steps|epsilon 3\.0 after 10 steps"


def test_the_script_of_the_page(found):
    """With two ranks, in the environment that torchrun makes for them."""
    assert re.search(STATED, printed_by(found.page))
    assert (Path(found.page["folder"]) / "after-one-epoch" / ".metadata").exists()


@pytest.mark.long
def test_the_script_of_the_page_by_torchrun(tmp_path):
    """The command of the page; it starts PyTorch three times."""
    (tmp_path / "train.py").write_text(script_of_the_page())
    done = run_torchrun(2, [tmp_path / "train.py"], folder=tmp_path)
    assert re.search(STATED, done.stdout)
    assert (tmp_path / "after-one-epoch" / ".metadata").exists()


@pytest.mark.parametrize(("ranks", "case"), [(n, c) for n, some in ADAPTED.items() for c in some])
def test_settings_that_change(found, ranks, case):
    """All ranks have the batches, the noise, the clip norms and the charges of a single process."""
    alone = program.adapted("plain", *case[1:])
    for of_rank in found(ranks, "adapted", *case):
        value = of_rank["value"]
        assert torch.allclose(value["weights"], alone["weights"], rtol=1e-4, atol=1e-5)
        for mine, theirs in zip(value["history"], alone["history"], strict=True):
            assert np.allclose(mine, theirs, rtol=1e-12)
    noise = [part[1] for part in alone["history"]]
    assert noise == [1.0] * 3 + [2.0] * 2 + [1.5] * 3


def test_ranks_that_do_not_agree_on_a_change(found):
    """One sentence on each of them, and nothing has changed."""
    for of_rank in found(2, "other_change"):
        assert "All ranks change the same settings" in of_rank["value"]["refused"]
        assert of_rank["value"]["history"] == [(1, 1.0, 1.0, 0.4, None)]
