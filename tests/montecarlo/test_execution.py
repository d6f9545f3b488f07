"""Who draws does not matter: workers, clusters, lost pieces."""

from __future__ import annotations

import pickle
from concurrent.futures import Executor, Future, ThreadPoolExecutor

import numpy as np
import pytest

import hockeystick as hs
from hockeystick import strategies
from hockeystick.errors import InvalidParameter
from hockeystick.montecarlo.checkpoint import Checkpoint
from hockeystick.montecarlo.drawing import Drawer, Pool
from hockeystick.montecarlo.draws import Job, Payoff, Piece, draw_piece
from hockeystick.schemes.simulation import Simulation
from in_one_test import in_one_test
from montecarlo.conftest import PIECES, PLAN, estimated

pytestmark = pytest.mark.usefixtures("small_pieces")

# -- results do not depend on who draws -----------------------------------------------------------


def test_any_number_of_workers_gives_the_same_numbers():
    """To the last bit; another seed gives others."""
    one, two, three = (estimated(workers=number) for number in (1, 2, 3))
    assert one == two == three == estimated()
    assert one != estimated(seed=4)


def test_without_a_seed_draws_are_fresh():
    """Twice the same question, two answers."""
    assert estimated(seed=None) != estimated(seed=None)


def test_a_cluster_gives_the_same_numbers():
    """By address and by client; the client that was given stays open."""
    import distributed

    alone = estimated()
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        assert estimated(scheduler=client) == alone
        assert client.status == "running"
        assert estimated(scheduler=cluster.scheduler_address) == alone


@in_one_test
@pytest.mark.parametrize(
    "strategy",
    [
        strategies.bsr(20, bands=4),
        strategies.band_mf(20, 4),
        strategies.from_matrix(strategies.band_mf(20, 4).to_matrix()),
        strategies.blt(20, 2),
    ],
    ids=["bsr", "band-mf", "matrix", "blt"],
)
@pytest.mark.parametrize(
    "scheme",
    [
        hs.MinSep(rate=0.1, separation=4),
        hs.UserMinSep(rate=0.1, separation=4, examples_per_user=2),
        hs.BallsInBins(bins=5),
    ],
    ids=["min-sep", "user", "bins"],
)
def test_pieces_travel(scheme, strategy):
    """A copy that was sent somewhere draws the same."""
    plan = hs.Plan(sampling=scheme, steps=20, strategy=strategy)
    run = Simulation(plan=plan, noise_multipliers=(1.0,), present=True)
    piece = Piece(Job(run, (Payoff(0.5),), 300, seed=1), 0, 300)
    here, there = draw_piece(piece), draw_piece(pickle.loads(pickle.dumps(piece)))
    assert here.means[0, 0] > 0
    np.testing.assert_array_equal(here.totals, there.totals)


def test_progress_says_how_far_it_is():
    """A percentage and what is left, up to the end."""
    said = []
    estimated(progress=said.append, workers=1)
    assert len(said) == PIECES
    assert all("%" in text for text in said)
    assert "100%" in said[-1]
    assert "left" in said[-1]


# -- refusals -------------------------------------------------------------------------------------


def test_a_cluster_that_does_not_answer(monkeypatch):
    """Refused with the address and the patience, which the message says."""
    monkeypatch.setattr("hockeystick.montecarlo.drawing.PATIENCE", 0.5)
    with pytest.raises(InvalidParameter, match=r"scheduler .*within 0.5 s.*tcp://127\.0\.0\.1:9"):
        estimated(scheduler="tcp://127.0.0.1:9")


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"workers": 0}, "workers"),
        ({"workers": 1.5}, "workers"),
        ({"workers": 2, "scheduler": "tcp://127.0.0.1:9"}, "workers"),
        ({"scheduler": 17}, "scheduler"),
        ({"scheduler": "nonsense://"}, "scheduler"),
    ],
)
def test_invalid_executions(options, name, monkeypatch):
    """Named in the message."""
    monkeypatch.setattr("hockeystick.montecarlo.drawing.PATIENCE", 0.5)
    with pytest.raises(InvalidParameter, match=name):
        estimated(**options)


@pytest.mark.parametrize("seed", [-1, 1.5, True, "three"])
def test_invalid_seeds(seed):
    """Integers that are not negative, or None."""
    with pytest.raises(InvalidParameter, match="seed"):
        estimated(seed=seed)


# -- lost workers ---------------------------------------------------------------------------------


class LosingExecutor(Executor):
    """Loses every second piece with an error of the given module."""

    def __init__(self, module):
        self._error = type("KilledWorker", (Exception,), {"__module__": module})
        self._count = 0

    def submit(self, fn, /, *args, **kwargs):
        """Done at once, or lost."""
        future = Future()
        self._count += 1
        if self._count % 2:
            future.set_result(fn(*args, **kwargs))
        else:
            future.set_exception(self._error("lost"))
        return future


def sums_with(executor):
    """A job of several pieces on a pool with this executor."""
    run = Simulation(plan=PLAN, noise_multipliers=(1.0,), present=True)
    drawer = Drawer(Pool(executor, 2), Checkpoint(None, {}, 3), hs.Execution())
    return drawer.sums(Job(run, (Payoff(0.5),), 500 * PIECES, seed=3))


def test_lost_pieces_are_drawn_again(fresh_draws):
    """By this process, with the same result."""
    with ThreadPoolExecutor(1) as healthy:
        expected = sums_with(healthy)
    fresh_draws.clear()
    found = sums_with(LosingExecutor("distributed.scheduler"))
    assert found.draws == expected.draws
    np.testing.assert_array_equal(found.totals, expected.totals)
    assert len(fresh_draws) == PIECES


def test_other_errors_are_not_hidden():
    """An error of the computation itself is raised."""
    with pytest.raises(Exception, match="lost"):
        sums_with(LosingExecutor("somewhere.else"))
