"""SQL: rows by page, metadata, every type of column, parameters, changes, errors, time-outs, closing."""

import asyncio
import datetime
import decimal
import os
import time

import pytest
from hazelcast.config import IntType
from hazelcast.core import HazelcastJsonValue
from hazelcast.sql import HazelcastSqlError, SqlColumnType, SqlExpectedResultType
from people import PersonPortable
from waiting import eventually

SERIES = "SELECT * FROM TABLE(generate_series(1, {0})) ORDER BY 1"
LONG = "SELECT count(*) FROM TABLE(generate_series(1, 1000)) a CROSS JOIN TABLE(generate_series(1, 1000000000)) b"

JARS = os.environ.get("HAZELCAST_JARS", "")
pytestmark = pytest.mark.skipif(
    bool(JARS) and "hazelcast-sql" not in JARS, reason="HAZELCAST_JARS has no hazelcast-sql.jar: that Hazelcast runs without SQL"
)

# name: (type in SQL, type of column, value)
TYPES = {
    "varchar": ("VARCHAR", SqlColumnType.VARCHAR, "Grüße 😀"),
    "boolean": ("BOOLEAN", SqlColumnType.BOOLEAN, True),
    "tinyint": ("TINYINT", SqlColumnType.TINYINT, 127),
    "smallint": ("SMALLINT", SqlColumnType.SMALLINT, -32768),
    "integer": ("INTEGER", SqlColumnType.INTEGER, 2**31 - 1),
    "bigint": ("BIGINT", SqlColumnType.BIGINT, -(2**63)),
    "decimal": ("DECIMAL", SqlColumnType.DECIMAL, decimal.Decimal("-1234567890.098765")),
    "real": ("REAL", SqlColumnType.REAL, 1.5),
    "double": ("DOUBLE", SqlColumnType.DOUBLE, 0.1),
    "date": ("DATE", SqlColumnType.DATE, datetime.date(2024, 2, 29)),
    "time": ("TIME", SqlColumnType.TIME, datetime.time(23, 59, 58, 123456)),
    "timestamp": ("TIMESTAMP", SqlColumnType.TIMESTAMP, datetime.datetime(1969, 12, 31, 23, 59, 59, 999999)),
    "timestamp with time zone": (
        "TIMESTAMP WITH TIME ZONE",
        SqlColumnType.TIMESTAMP_WITH_TIME_ZONE,
        datetime.datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    ),
    "json": ("JSON", SqlColumnType.JSON, HazelcastJsonValue('{"a":[1,null]}')),
}
INT_TYPES = {"tinyint": IntType.BYTE, "smallint": IntType.SHORT, "bigint": IntType.LONG}


def run(client, text, *parameters, **settings):
    return client.sql.execute(text, *parameters, **settings).result()


def rows(client, text, *parameters, **settings):
    with run(client, text, *parameters, **settings) as result:
        return [tuple(row[i] for i in range(row.metadata.column_count)) for row in result]


def fails(client, text, *parameters, **settings):
    with pytest.raises(HazelcastSqlError) as raised:
        with run(client, text, *parameters, **settings) as result:
            list(result)
    return raised.value


def create_mapping(client, name, key="INT", value="INT"):
    formats = f"'keyFormat' = '{key.lower()}', 'valueFormat' = '{value.lower()}'"
    run(client, f'CREATE MAPPING "{name}" (__key {key}, this {value}) TYPE IMap OPTIONS ({formats})')


@pytest.fixture
def numbers(client, a_map, name):
    """A mapped map with 0 to 9."""
    create_mapping(client, name)
    a_map.put_all({i: i for i in range(10)})
    yield name
    run(client, f'DROP MAPPING IF EXISTS "{name}"')


def test_rows_and_columns(client, numbers):
    with run(client, f'SELECT __key, this * 2 AS "Twice" FROM "{numbers}" WHERE this < 3 ORDER BY __key') as result:
        assert result.is_row_set() and result.update_count() == -1
        columns = result.get_row_metadata().columns
        assert [column.name for column in columns] == ["__key", "Twice"]
        assert columns[0].type == SqlColumnType.INTEGER and columns[0].nullable
        assert [(row.get_object("__key"), row["Twice"]) for row in result] == [(0, 0), (1, 2), (2, 4)]


@pytest.mark.parametrize("kind", TYPES)
def test_columns_of_each_type(client, new_client, a_map, name, kind):
    word, column_type, value = TYPES[kind]
    create_mapping(client, name, value=word)
    writer = new_client(default_int_type=INT_TYPES[kind]) if kind in INT_TYPES else client
    if kind == "real":
        run(client, f'INSERT INTO "{name}" VALUES (1, 1.5)')
    elif kind == "timestamp":
        run(client, f"INSERT INTO \"{name}\" VALUES (1, TIMESTAMP '1969-12-31 23:59:59.999999')")
    else:
        writer.get_map(name).blocking().set(1, value) if kind not in INT_TYPES else run(
            client, f'INSERT INTO "{name}" VALUES (1, CAST(? AS {word}))', str(value)
        )
    with run(client, f'SELECT this FROM "{name}"') as result:
        assert result.get_row_metadata().get_column(0).type == column_type
        found = [row[0] for row in result]
    assert found == [value] and type(found[0]) is type(value)
    # And as what a statement makes itself: nothing but null.
    with run(client, f'SELECT CAST(NULL AS {word}) AS n FROM "{name}"') as result:
        assert [row["n"] for row in result] == [None]


def test_a_column_of_nulls(client, numbers):
    with run(client, f'SELECT NULL AS n FROM "{numbers}"') as result:
        assert result.get_row_metadata().get_column(0).type == SqlColumnType.NULL
        assert [row[0] for row in result] == [None] * 10


def test_objects_come_back_as_they_are(client, a_map, name):
    ada = PersonPortable("Ada", 36)
    a_map.set(1, ada)
    run(
        client,
        f'CREATE MAPPING "{name}" (__key INT, name VARCHAR, age INT) TYPE IMap OPTIONS (\'keyFormat\' = \'int\','
        " 'valueFormat' = 'portable', 'valuePortableFactoryId' = '1', 'valuePortableClassId' = '1')",
    )
    assert rows(client, f'SELECT name, age FROM "{name}" WHERE age > 30') == [("Ada", 36)]
    assert rows(client, f'SELECT * FROM "{name}"') == [(1, "Ada", 36)]
    with run(client, f'SELECT this FROM "{name}"') as result:
        assert result.get_row_metadata().get_column(0).type == SqlColumnType.OBJECT
        assert [row["this"] for row in result] == [ada]


def test_some_rows_are_null(client, a_map, name):
    a_map.put_all({i: HazelcastJsonValue({"n": i} if i % 3 else {}) for i in range(20)})
    run(
        client,
        f"CREATE MAPPING \"{name}\" (__key INT, n INT) TYPE IMap OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'json-flat')",
    )
    expected = [(i, i if i % 3 else None) for i in range(20)]
    assert rows(client, f'SELECT __key, n FROM "{name}" ORDER BY __key') == expected


@pytest.mark.parametrize("size", [1, 3, 4, 10, 4096])
def test_pages(client, size):
    assert rows(client, SERIES.format(10), cursor_buffer_size=size) == [(i,) for i in range(1, 11)]


def test_many_rows(client):
    assert len(rows(client, "SELECT * FROM TABLE(generate_series(1, 50000))")) == 50000


def test_no_rows(client, numbers):
    assert rows(client, f'SELECT * FROM "{numbers}" WHERE this > 100') == []


def test_parameters(client, numbers):
    text = f"SELECT this FROM \"{numbers}\" WHERE this > ? AND this < ? AND '?' = ? /* ? */ ORDER BY this -- ?"
    assert rows(client, text, 3, 6, "?") == [(4,), (5,)]
    assert rows(client, f'SELECT this FROM "{numbers}" WHERE this = CAST(? AS INT)', None) == []
    assert rows(client, f'SELECT this FROM "{numbers}" WHERE __key = ?', 7) == [(7,)]
    fails(client, f'SELECT this FROM "{numbers}" WHERE this > ?')
    fails(client, f'SELECT this FROM "{numbers}" WHERE this > ?', 1, 2)


def test_changes(client, numbers, a_map):
    with run(client, f'INSERT INTO "{numbers}" VALUES (?, ?), (11, 110)', 10, 100) as result:
        assert not result.is_row_set() and result.update_count() >= 0
    run(client, f'SINK INTO "{numbers}" VALUES (11, 111)')
    run(client, f'UPDATE "{numbers}" SET this = this + 1 WHERE __key = 10')
    run(client, f'DELETE FROM "{numbers}" WHERE __key = 0')
    assert (a_map.get(10), a_map.get(11), a_map.get(0)) == (101, 111, None)
    fails(client, f'INSERT INTO "{numbers}" VALUES (11, 1)')


@pytest.mark.filbert_only
def test_changes_are_counted(client, numbers):
    """A real Hazelcast says 0."""
    assert run(client, f'INSERT INTO "{numbers}" VALUES (10, 1), (11, 2)').update_count() == 2
    assert run(client, f'DELETE FROM "{numbers}" WHERE __key >= 8').update_count() == 4
    assert run(client, f'DROP MAPPING "{numbers}"').update_count() == 0


@pytest.mark.filbert_only
def test_a_map_needs_no_mapping(client, a_map, name):
    a_map.put_all({i: HazelcastJsonValue({"firstName": f"n{i}", "age": i}) for i in range(3)})
    assert rows(client, f'SELECT firstName FROM "{name}" WHERE age > 1') == [("n2",)]


def test_names_keep_their_case(client, a_map):
    name = "CamelCase" + a_map.name.replace("-", "")
    run(client, f"CREATE MAPPING {name} (__key INT, firstName VARCHAR) TYPE IMap"
                " OPTIONS ('keyFormat' = 'int', 'valueFormat' = 'json-flat')")  # fmt: skip
    run(client, f"INSERT INTO {name} (__key, firstName) VALUES (1, 'Ada')")
    with run(client, f"SELECT firstName AS FirstName FROM {name}") as result:
        assert [row["FirstName"] for row in result] == ["Ada"]
    fails(client, f"SELECT firstname FROM {name}")
    assert client.get_map(name).blocking().get(1).loads() == {"firstName": "Ada"}
    run(client, f"DROP MAPPING {name}")


def test_what_is_expected_is_checked_before_anything_changes(client, numbers, a_map):
    text = f'DELETE FROM "{numbers}"'
    fails(client, text, expected_result_type=SqlExpectedResultType.ROWS)
    assert a_map.size() == 10
    fails(client, f'SELECT * FROM "{numbers}"', expected_result_type=SqlExpectedResultType.UPDATE_COUNT)
    assert rows(client, f'SELECT count(*) FROM "{numbers}"', expected_result_type=SqlExpectedResultType.ROWS) == [(10,)]
    run(client, text, expected_result_type=SqlExpectedResultType.UPDATE_COUNT)
    assert a_map.size() == 0


def test_a_schema_is_looked_at_first(client, numbers):
    for schema in ("public", "no such schema"):
        assert rows(client, f'SELECT count(*) FROM "{numbers}"', schema=schema) == [(10,)]


def test_errors_say_where_and_what(client, numbers):
    member = client.cluster_service.get_members()[0].uuid
    for text, code in [
        ("SELEC 1", 1008),
        (f'SELECT nothing FROM "{numbers}"', 1008),
        ('SELECT * FROM "there is none"', 1010),
        ("SELECT CAST('a' AS INT)", 2000),
    ]:
        error = fails(client, text)
        assert error.originating_member_uuid == member, text
        assert error._code == code if hasattr(error, "_code") else True, text


def test_a_statement_is_closed(client):
    result = run(client, SERIES.format(100), cursor_buffer_size=1)
    iterator = iter(result)
    assert next(iterator)[0] == 1
    result.close().result()
    with pytest.raises(HazelcastSqlError):
        next(iterator)


@pytest.mark.filbert_only
def test_what_is_closed_makes_room(new_client):
    """Each connection may have 32 statements open; one more has its turn when one of them is closed."""
    client = new_client()
    for _ in range(3):
        opened = [run(client, SERIES.format(100), cursor_buffer_size=1) for _ in range(32)]
        waits = client.sql.execute("SELECT 1")
        for result in opened:
            result.close().result()
        with waits.result() as result:
            assert len(list(result)) == 1
    assert rows(client, "SELECT 1") == [(1,)]


@pytest.mark.filbert_only
def test_a_time_limit_ends_a_statement(client):
    started = time.monotonic()
    error = fails(client, LONG, timeout=0.3)
    assert "300 ms" in str(error) and time.monotonic() - started < 60


@pytest.mark.filbert_only
def test_statements_end_with_their_client(new_client, client):
    for _ in range(3):
        other = new_client()
        for _ in range(20):
            run(other, SERIES.format(1000), cursor_buffer_size=1)
        other.shutdown()
    # 64 may run at a time: these would not, had the others stayed.
    eventually(lambda: rows(client, "SELECT 1") == [(1,)], "a statement has its turn")


def test_an_endless_statement_gives_rows_as_they_come(client):
    with run(client, "SELECT v FROM TABLE(generate_stream(200))") as result:
        seen = []
        for row in result:
            seen.append(row["v"])
            if len(seen) == 20:
                break
    assert seen == list(range(20))


def test_mappings_views_and_indexes(client, numbers):
    assert (numbers,) in rows(client, "SHOW MAPPINGS")
    run(client, f'CREATE INDEX IF NOT EXISTS by_value ON "{numbers}" (this) TYPE SORTED')
    assert rows(client, f'SELECT __key FROM "{numbers}" WHERE this > 8') == [(9,)]
    run(client, f'CREATE OR REPLACE VIEW "v-{numbers}" AS SELECT this AS t FROM "{numbers}" WHERE this > 7')
    assert sorted(rows(client, f'SELECT t FROM "v-{numbers}"')) == [(8,), (9,)]
    run(client, f'DROP VIEW "v-{numbers}"')


def test_joins_and_aggregates(client, numbers):
    text = f'SELECT count(*), sum(a.this) FROM "{numbers}" a JOIN "{numbers}" b ON a.__key = b.this WHERE b.this >= 5'
    assert rows(client, text) == [(5, 35)]


def test_asyncio_client(cluster):
    from hazelcast.asyncio import HazelcastClient

    async def main():
        client = await HazelcastClient.create_and_start(cluster_members=[cluster.address], cluster_name="dev")
        try:
            result = await client.sql.execute(SERIES.format(10), cursor_buffer_size=3)
            return [row.get_object_with_index(0) async for row in result]
        finally:
            await client.shutdown()

    assert asyncio.run(main()) == list(range(1, 11))
