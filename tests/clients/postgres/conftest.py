"""Gives the tests of PostgreSQL clients a member to talk to.

- `FILBERT_POSTGRES=host:port`: the PostgreSQL door of a member that runs already;
- `FILBERT_BIN=<binary of the test member>`: one that is started here, with a settings file of its own.

Without either the suite says so and is skipped.
"""

import os
import re
import subprocess
import threading

import psycopg
import pytest


def start(binary, folder):
    """Starts a member whose doors listen on ports that the system chooses; returns it and where its PostgreSQL door listens."""
    settings = folder / "filbert.toml"
    settings.write_text('[hazelcast]\naddress = "127.0.0.1:0"\n\n[postgres]\naddress = "127.0.0.1:0"\n')
    member = subprocess.Popen([binary, "start", "--config", str(settings)], stdout=subprocess.PIPE, text=True)
    said = []
    for line in member.stdout:
        said.append(line)
        found = re.search(r"PostgreSQL clients on (\S+:\d+)", line)
        if found:
            # Whatever else it says must not fill the pipe.
            threading.Thread(target=member.stdout.read, daemon=True).start()
            return member, found.group(1)
    raise RuntimeError(f"the member ended without a PostgreSQL door: {''.join(said)}")


@pytest.fixture(scope="session")
def address(tmp_path_factory):
    running = os.environ.get("FILBERT_POSTGRES")
    if running:
        yield running
        return
    binary = os.environ.get("FILBERT_BIN")
    if not binary:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("SKIPPED: neither FILBERT_POSTGRES nor FILBERT_BIN says where a member is")
    member, found = start(binary, tmp_path_factory.mktemp("member"))
    yield found
    member.terminate()
    member.wait(timeout=60)


@pytest.fixture
def connect(address):
    """Opens connections that are closed after the test."""
    host, port = address.rsplit(":", 1)
    opened = []

    def one(**settings):
        settings = {"host": host, "port": port, "user": "ann", "dbname": "filbert", "autocommit": True, **settings}
        connection = psycopg.connect(**settings)
        opened.append(connection)
        return connection

    yield one
    for connection in opened:
        connection.close()


@pytest.fixture
def connection(connect):
    return connect()
