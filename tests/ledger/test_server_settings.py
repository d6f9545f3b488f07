"""What the page says about servers: names of tables, durability, and how a URL is written."""

from __future__ import annotations

from urllib.parse import quote

import pytest
import sqlalchemy as sa

from hockeystick.ledger import open_store
from hockeystick.ledger.connections import make_engine
from hockeystick.ledger.locations import location
from hockeystick.ledger.schema import TABLES


def opened(where):
    """A budget in it."""
    return open_store(where, name="budget", budget=1.0, description={})


@pytest.mark.postgres
@pytest.mark.slow
def test_a_commit_is_on_the_disk_of_the_server(postgres_url):
    """Whatever the database or the URL says; the tables are the library's by their names."""
    base = postgres_url.rpartition("/")[2]
    engine = make_engine(location(postgres_url))
    with engine.begin() as connection:
        connection.exec_driver_sql(f"ALTER DATABASE {base} SET synchronous_commit = off")
    engine.dispose()
    mark = "&" if "?" in postgres_url else "?"
    off = quote("-c synchronous_commit=off")
    for where in (postgres_url, f"{postgres_url}{mark}options={off}"):
        store = opened(where)
        store.reserve(lambda spent: (0.125, {}))
        engine = make_engine(location(where))
        with engine.connect() as connection:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
            names = sa.inspect(connection).get_table_names()
        engine.dispose()
        store.close()
    assert sorted(names) == sorted(TABLES)
    assert all(name.startswith("hockeystick_") for name in names)


def test_an_at_sign_in_a_password_is_written_in_hexadecimal():
    """The driver gets the character, and the host is what stands behind the last one."""
    where = location("postgresql://user:p%40ss@host/base")
    engine = make_engine(where)
    _, options = engine.dialect.create_connect_args(engine.url)
    given = {**options, **where.secrets}
    assert (given["password"], given["host"]) == ("p@ss", "host")
    assert "p@ss" not in where.text
    engine.dispose()
