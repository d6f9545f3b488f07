"""A password is in no message, no repr, no chain of errors and no log."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

import pytest

from hockeystick import filters
from hockeystick.cli.main import main
from hockeystick.errors import HockeystickError
from hockeystick.ledger import audit, open_store, read_ledger
from hockeystick.ledger.connections import make_engine
from hockeystick.ledger.locations import location

SECRET = "s3cret"
MALFORMED = [
    f"postgresql://u:{SECRET}@h:notaport/db",
    f"postgresql://u:{SECRET}@h:99999999/db?connect_timeout=1",
    f"postgresql://u:{SECRET}@[::1/db",
    f"postgresql://u:p@{SECRET}@h/db",
    f"postgresql://u:p@{SECRET}/x@h/db",
    f"postgresql:/u:{SECRET}@h/db",
    f"postgres://u:{SECRET}@h/db",
    f"postgresql+nodriver://u:{SECRET}@h:x/db",
    f"mysql://u:{SECRET}@h/db",
    f"mysql://u@h/db?password={SECRET}",
    f"host=h user=u password={SECRET} dbname=db",
    f"postgresql://u@h/db?password={SECRET}&password=other",
    f"postgresql://u:other@h/db?password={SECRET}",
    f"sqlite://u:{SECRET}@h:x/db",
    f"sqlite://u:{SECRET}@h/db",
    f"postgresql//u:{SECRET}@h/db",
    f"u:{SECRET}@h/db",
    f"//u:{SECRET}@h/db",
]
UNREACHABLE = [
    f"postgresql://u:{SECRET}@127.0.0.1:1/db",
    f"postgresql://u@127.0.0.1:1/db?password={SECRET}",
    f"postgresql://u@127.0.0.1:1/db?sslpassword={SECRET}",
    f"postgresql://u:{SECRET}@127.0.0.1:1/db?nonsense=1",
    f"postgresql://u:{SECRET}@127.0.0.1:1/db?port=notaport",
    f"postgresql+psycopg://u:{SECRET}@no.such.host.invalid/db?connect_timeout=1",
]


def everything(error):
    """All that can be printed of an error and of those behind it, hidden ones included."""
    texts, seen = [], error
    while seen is not None:
        texts += [str(seen), repr(seen), repr(seen.args), repr(getattr(seen, "value", ""))]
        texts += traceback.format_exception(seen, chain=True)
        seen = seen.__cause__ or seen.__context__
    # Lines of source code quote this file, not what was passed.
    return "\n".join(texts)


@pytest.mark.parametrize("url", MALFORMED + UNREACHABLE)
def test_it_is_never_shown(url, caplog, capsys, monkeypatch, tmp_path):
    """Opening, reading, auditing, a filter, the command line."""
    monkeypatch.chdir(tmp_path)
    caplog.set_level(logging.DEBUG)
    uses = (
        lambda where: open_store(where, name="x", budget=1.0, description={}),
        read_ledger,
        audit,
        lambda where: filters.Gaussian(mu=1.0, ledger=where),
    )
    for use in uses:
        for where in (url, Path(url)) if url in MALFORMED else (url,):
            with pytest.raises(HockeystickError) as error:
                use(where)
            assert SECRET not in everything(error.value)
    assert main(["ledger", "show", url]) == 2
    printed = capsys.readouterr()
    assert printed.err.count("\n") == 1
    assert SECRET not in printed.out + printed.err + caplog.text
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("url", [url for url in UNREACHABLE if "notaport" not in url])
def test_it_is_in_no_repr(url):
    """Of a location, its URL, an engine or its pool; the driver gets it."""
    where = location(url)
    engine = make_engine(where)
    shown = [repr(where), str(where), where.text, repr(where.url), str(where.url), repr(engine)]
    assert SECRET not in " ".join([*shown, repr(engine.url), repr(engine.pool)])
    assert SECRET in where.secrets.values()


@pytest.mark.postgres
@pytest.mark.slow
def test_a_password_still_works(postgres_url, name):
    """In both places."""
    for url in (
        postgres_url.replace("ledger@", f"ledger:{SECRET}@"),
        f"{postgres_url}?password={SECRET}",
    ):
        store = open_store(url, name=name, budget=1.0, description={})
        assert store.spent() == 0.0
