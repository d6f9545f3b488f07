"""Where a ledger is, from a path or a URL; no message or repr ever shows a password."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import sqlalchemy as sa

from hockeystick._files import check_target
from hockeystick.errors import InvalidParameter
from hockeystick.ledger.heads import ALLOWED, Ledger, Where

__all__ = ["Location", "existing", "location"]

# Text that was meant for a server, however it is written: nothing after the first word is shown.
_FOR_A_SERVER = re.compile(
    r"(?i)^[a-z][\w+.-]+:/|^postgres\w*:|://|\bpassword\s*=|(^|/)[^/@:]+:[^/@]*@"
)
# Options of a URL that are as secret as its password.
SECRET_OPTIONS = ("password", "sslpassword")


class Location(NamedTuple):
    """A file, or a server with the secrets that its URL does not hold any more."""

    url: sa.URL
    secrets: Mapping[str, str]
    key: bytes | None = None

    @property
    def is_file(self) -> bool:
        """Whether it is an SQLite file."""
        return self.url.get_backend_name() == "sqlite"

    @property
    def path(self) -> Path:
        """The file, without symbolic links."""
        return Path(str(self.url.database))

    @property
    def text(self) -> str:
        """For messages: no password, and no options."""
        if self.is_file:
            return str(self.url.database)
        return self.url.set(query={}).render_as_string(hide_password=True)

    def without_secrets(self, text: str) -> str:
        """The text of somebody else with every secret taken out."""
        for secret in sorted(self.secrets.values(), key=len, reverse=True):
            text = text.replace(secret, "***") if secret else text
        return text

    def __repr__(self) -> str:
        return f"Location({self.text!r})"


def location(where: Where) -> Location:
    """The place of a ledger, given by a path or a URL, and its key."""
    if isinstance(where, Ledger):
        return location(where._where)._replace(key=where._key)
    text = str(where)
    if text.startswith("sqlite") and "://" in text:
        return _file(_without_host(_parsed(text), text).database or "")
    if _FOR_A_SERVER.search(text) is None:
        return _file(text)
    if text.count("@") > 1:
        # Otherwise a part of the password may pass for the host.
        raise InvalidParameter("ledger", "a URL with every other @ written as %40", _shown(text))
    url = _parsed(text)
    if url.get_backend_name() != "postgresql":
        raise InvalidParameter("ledger", ALLOWED, _shown(text))
    return _server(url.set(drivername="postgresql+psycopg"))


def existing(where: Where, *, file_only: bool = False) -> Location:
    """The same, if it is a server (unless only files will do) or a file that exists."""
    target = location(where)
    if not (target.path.is_file() if target.is_file else not file_only):
        raise InvalidParameter("ledger", "a file that exists", target.text)
    return target


def _parsed(text: str) -> sa.URL:
    try:
        url = sa.make_url(text)
        # Properties that raise for a driver that does not exist.
        url.get_backend_name()
    except (sa.exc.ArgumentError, ValueError, UnicodeError):
        url = None
    # Raised here, where no other error is being handled: theirs may quote the URL.
    if url is None:
        raise InvalidParameter("ledger", ALLOWED, _shown(text))
    return url


def _without_host(url: sa.URL, text: str) -> sa.URL:
    """The URL of a file, which is on no host: `sqlite://host/file` would be another file here."""
    if any(part is not None for part in (url.host, url.username, url.password, url.port)):
        raise InvalidParameter("ledger", "a sqlite:/// URL without a host", _shown(text))
    return url


def _server(url: sa.URL) -> Location:
    secrets = {} if url.password is None else {"password": str(url.password)}
    query = dict(url.query)
    for name in SECRET_OPTIONS:
        if name not in query:
            continue
        value = query.pop(name)
        if not isinstance(value, str) or name in secrets:
            raise InvalidParameter("ledger", f"a URL with one {name}", _shown(url.drivername))
        secrets[name] = value
    return Location(url.set(query=query)._replace(password=None), secrets)


def _file(path: str) -> Location:
    if path in ("", ".", ":memory:"):
        raise InvalidParameter("ledger", "a file, so that it survives the process", path)
    target = check_target("ledger", Path(path))
    return Location(sa.URL.create("sqlite+pysqlite", database=str(target.resolve())), {})


def _shown(text: str) -> str:
    """The first word of a URL, up to what may be a secret."""
    found = re.match(r"[\w+.-]*(://)?", text)
    return f"{found.group() if found else ''}..."
