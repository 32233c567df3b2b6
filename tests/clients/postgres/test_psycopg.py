"""psycopg against the PostgreSQL door: values both ways, statements that are prepared, pipelines, cancel, errors."""

import datetime
import decimal
import threading
import uuid

import psycopg
import pytest
from psycopg import sql


def one(connection, query, *values, binary=False):
    return connection.execute(query, values or None, binary=binary).fetchone()


@pytest.fixture
def table(connection):
    """A map of numbers to texts, as a table of its own."""
    name = f"t_{uuid.uuid4().hex}"
    connection.execute(
        sql.SQL(
            "CREATE MAPPING {} (__key BIGINT, this VARCHAR) TYPE IMap OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'varchar')"
        ).format(sql.Identifier(name))
    )
    yield name
    connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(name)))
    connection.execute(sql.SQL("DROP MAPPING {}").format(sql.Identifier(name)))


@pytest.mark.parametrize("binary", [False, True], ids=["text", "binary"])
def test_values_come_as_python_knows_them(connection, binary):
    row = one(
        connection,
        "SELECT true AS a, CAST(7 AS SMALLINT) AS b, 8::bigint AS c, 1.5::float8 AS d, CAST('12.340' AS DECIMAL(10, 3)) AS e, 'größer' AS f, "
        "DATE '2024-02-29' AS g, TIMESTAMP '2024-02-29 12:00:00.5' AS h, INTERVAL '1 day 2 hours' AS i, [1, NULL] AS j, X'00ff' AS k, "
        "NULL AS l, TIME '01:02:03' AS m",
        binary=binary,
    )
    assert row == (
        True, 7, 8, 1.5, decimal.Decimal("12.340"), "größer", datetime.date(2024, 2, 29),
        datetime.datetime(2024, 2, 29, 12, 0, 0, 500_000), datetime.timedelta(days=1, hours=2), [1, None], b"\x00\xff", None,
        datetime.time(1, 2, 3),
    )


@pytest.mark.parametrize(
    "value",
    [True, 7, -8_000_000_000, 1.5, "it's ü", b"\x00\xff", datetime.date(2024, 2, 29), datetime.time(1, 2, 3, 4),
     datetime.datetime(2024, 2, 29, 12, 0, 0, 500_000), datetime.timedelta(days=1, seconds=5)],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.parametrize("format", ["%s", "%b"], ids=["text", "binary"])
def test_parameters_come_back(connection, value, format):
    assert one(connection, f"SELECT {format} AS v", value) == (value,)


def test_statements_change_and_count(connection, table):
    name = sql.Identifier(table)
    cursor = connection.cursor()
    cursor.executemany(sql.SQL("INSERT INTO {} VALUES (%s, %s)").format(name), [(n, f"v{n}") for n in range(100)])
    assert cursor.rowcount == 100
    assert one(connection, sql.SQL("SELECT count(*) AS n FROM {} WHERE __key < %s").format(name), 10) == (10,)
    assert cursor.execute(sql.SQL("UPDATE {} SET this = %s WHERE __key = %s").format(name), ("new", 5)).rowcount == 1
    assert cursor.execute(sql.SQL("DELETE FROM {} WHERE __key >= %s").format(name), (50,)).rowcount == 50
    assert one(connection, sql.SQL("SELECT this FROM {} WHERE __key = 5").format(name)) == ("new",)


def test_a_prepared_statement_is_run_again(connection):
    for number in range(20):
        assert connection.execute("SELECT %s + 1 AS v", (number,), prepare=True).fetchone() == (number + 1,)


def test_a_pipeline_is_answered_in_order(connection):
    with connection.pipeline():
        cursors = [connection.execute("SELECT %s AS v", (number,)) for number in range(20)]
        assert [cursor.fetchone()[0] for cursor in cursors] == list(range(20))


def test_many_rows_stream(connection):
    with connection.cursor() as cursor:
        rows = cursor.stream("SELECT value FROM generate_series(1, 20000)")
        assert sum(row[0] for row in rows) == 20_000 * 20_001 // 2


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("SELEC 1", psycopg.errors.SyntaxError),
        ("SELECT * FROM nowhere", psycopg.errors.UndefinedTable),
        ("SELECT nothing FROM pg_class", psycopg.errors.UndefinedColumn),
        ("SELECT 1 / 0", psycopg.errors.DivisionByZero),
        ("SELECT CAST('x' AS INTEGER)", psycopg.errors.InvalidTextRepresentation),
    ],
)
def test_errors_have_their_class_and_keep_the_connection(connection, query, error):
    with pytest.raises(error):
        connection.execute(query)
    assert one(connection, "SELECT 1 AS v") == (1,)


def test_a_failed_transaction_is_one(connect):
    connection = connect(autocommit=False)
    with pytest.raises(psycopg.errors.UndefinedTable):
        connection.execute("SELECT * FROM nowhere")
    with pytest.raises(psycopg.errors.InFailedSqlTransaction):
        connection.execute("SELECT 1")
    connection.rollback()
    assert one(connection, "SELECT 1 AS v") == (1,)
    connection.commit()


def test_a_query_is_cancelled(connection):
    ended = threading.Event()

    def cancel():
        # Again and again: on a busy machine the query may not run yet, and a request that finds nothing to cancel is lost.
        while not ended.wait(0.3):
            connection.cancel()

    canceller = threading.Thread(target=cancel)
    canceller.start()
    try:
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT count(*) AS n FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b")
    finally:
        ended.set()
        canceller.join()
    assert one(connection, "SELECT 1 AS v") == (1,)


def test_what_the_server_says_of_itself(connection):
    assert connection.info.server_version == 150000
    assert connection.info.encoding == "utf-8"
    assert connection.info.parameter_status("standard_conforming_strings") == "on"
    assert one(connection, "SHOW server_encoding") == ("UTF8",)
    assert one(connection, "SELECT oid, typarray FROM pg_type WHERE typname = %s", "int4") == (23, 1007)


def test_rows_are_copied_in_and_out(connection):
    name = sql.Identifier(f"t_{uuid.uuid4().hex}")
    connection.execute(sql.SQL("CREATE TABLE {} (id bigint, name text, born date)").format(name))
    rows = [(1, "a\tb", datetime.date(2024, 2, 29)), (2, None, None)]
    cursor = connection.cursor()
    for options in ["", "(FORMAT binary)"]:
        with cursor.copy(sql.SQL("COPY {} FROM STDIN {}").format(name, sql.SQL(options))) as copy:
            copy.set_types(["int8", "text", "date"])
            for row in rows:
                copy.write_row(row)
        assert cursor.rowcount == 2
        with cursor.copy(sql.SQL("COPY (SELECT DISTINCT * FROM {} ORDER BY id) TO STDOUT {}").format(name, sql.SQL(options))) as copy:
            copy.set_types(["int8", "text", "date"])
            assert list(copy.rows()) == rows
    with pytest.raises(psycopg.errors.BadCopyFileFormat, match="line 1: missing data"):
        with cursor.copy(sql.SQL("COPY {} FROM STDIN").format(name)) as copy:
            copy.write("1\n")
    assert connection.execute(sql.SQL("SELECT count(*) FROM {}").format(name)).fetchone() == (4,)
    connection.execute(sql.SQL("DROP TABLE {}").format(name))
