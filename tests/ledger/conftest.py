"""Ledgers to test with: in memory, in a file, and on a server."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from hockeystick.ledger import MemoryStore, Store, open_store
from ledger.server import MISSING, programs, quick_directory, running_server

DESCRIPTION = {"filter": "renyi", "kind": "proven", "epsilon": 2.0, "delta": 1e-5, "order": 8}
POSTGRES = pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.slow])

NewStore = Callable[[float], Store]
_bases = itertools.count(1)
_names = (f"budget-{number}" for number in itertools.count(1))


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """A real server, started once."""
    installed = programs()
    if installed is None:
        pytest.skip(MISSING)
    with running_server(installed) as url:
        yield url


@pytest.fixture
def postgres_url(postgres_server: str) -> str:
    """A new database of the server: what one test damages does not concern the others."""
    base = f"ledger{next(_bases)}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {base}")
    return postgres_server.removesuffix("postgres") + base


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory for ledgers with many transactions."""
    path = quick_directory()
    yield path
    shutil.rmtree(path)


@pytest.fixture(params=["sqlite", POSTGRES])
def where(request: pytest.FixtureRequest, directory: Path) -> str:
    """Where a durable ledger is."""
    if request.param == "sqlite":
        return str(directory / "ledger.db")
    return str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def name() -> str:
    """A budget that no other test has used."""
    return next(_names)


@pytest.fixture(params=["memory", "sqlite", POSTGRES])
def new_store(request: pytest.FixtureRequest, directory: Path, name: str) -> NewStore:
    """A function that makes a store with the given budget."""
    if request.param == "memory":
        return MemoryStore
    place = str(directory / "ledger.db")
    if request.param == "postgres":
        place = str(request.getfixturevalue("postgres_url"))

    def new(budget: float) -> Store:
        return open_store(place, name=name, budget=budget, description=DESCRIPTION)

    return new
