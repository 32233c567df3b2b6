"""pg8000 against the PostgreSQL door: the driver that is Python alone."""

import datetime
import io
import uuid

import pg8000.native
import pytest


@pytest.fixture
def connection(address):
    host, port = address.rsplit(":", 1)
    connection = pg8000.native.Connection("ann", host=host, port=int(port), database="filbert")
    yield connection
    connection.close()


def test_values_come_back(connection):
    rows = connection.run(
        "SELECT CAST(:a AS bigint) AS a, CAST(:b AS text) AS b, CAST(:c AS date) AS c", a=7, b="größer", c=datetime.date(2024, 2, 29)
    )
    assert rows == [[7, "größer", datetime.date(2024, 2, 29)]]


def test_paging_and_lists_of_ids_need_no_casts(connection):
    table = "SELECT value FROM generate_series(1, 9)"
    assert connection.run(f"{table} ORDER BY value LIMIT :many OFFSET :first", many=2, first=3) == [[4], [5]]
    assert connection.run(f"{table} WHERE value = ANY(:ids) ORDER BY value", ids=[2, 7, 11]) == [[2], [7]]


def test_rows_are_copied_in_and_out(connection):
    name = f"t_{uuid.uuid4().hex}"
    connection.run(f"CREATE TABLE {name} (id bigint, name text)")
    connection.run(f"COPY {name} FROM STDIN WITH (FORMAT csv)", stream=io.StringIO('1,"a, b"\n2,\n'))
    assert connection.row_count == 2
    out = io.StringIO()
    connection.run(f"COPY (SELECT * FROM {name} ORDER BY id) TO STDOUT", stream=out)
    assert out.getvalue() == "1\ta, b\n2\t\\N\n"
    connection.run(f"DROP TABLE {name}")
