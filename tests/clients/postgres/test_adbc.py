"""ADBC's PostgreSQL driver against the PostgreSQL door: Arrow both ways, by COPY in binary."""

import adbc_driver_postgresql
import nanoarrow
import pytest
from adbc_driver_manager import AdbcConnection, AdbcDatabase, AdbcStatement


@pytest.fixture
def connection(address):
    with AdbcDatabase(driver=adbc_driver_postgresql._driver_path(), uri=f"postgresql://ann@{address}/filbert") as database:
        with AdbcConnection(database) as connection:
            yield connection


def rows(connection, query):
    with AdbcStatement(connection) as statement:
        statement.set_sql_query(query)
        stream, _ = statement.execute_query()
        return nanoarrow.ArrayStream(stream).read_all().to_pylist()


def test_rows_come_as_arrow(connection):
    found = rows(connection, "SELECT 1::int AS a, 'größer' AS b, 1.5::float8 AS c, true AS d, NULL::bigint AS e")
    assert found == [{"a": 1, "b": "größer", "c": 1.5, "d": True, "e": None}]
    assert len(rows(connection, "SELECT value FROM generate_series(1, 10000)")) == 10_000
