"""ADBC's PostgreSQL driver against the PostgreSQL door: Arrow both ways, by COPY in binary."""

import datetime
import uuid

import adbc_driver_postgresql
import adbc_driver_postgresql.dbapi
import nanoarrow
import pyarrow
import pytest
from adbc_driver_manager import AdbcConnection, AdbcDatabase, AdbcStatement


@pytest.fixture
def connection(address):
    with AdbcDatabase(driver=adbc_driver_postgresql._driver_path(), uri=f"postgresql://ann@{address}/filbert") as database:
        with AdbcConnection(database) as connection:
            yield connection


@pytest.fixture
def session(address):
    with adbc_driver_postgresql.dbapi.connect(f"postgresql://ann@{address}/filbert", autocommit=True) as session:
        yield session


def rows(connection, query):
    with AdbcStatement(connection) as statement:
        statement.set_sql_query(query)
        stream, _ = statement.execute_query()
        return nanoarrow.ArrayStream(stream).read_all().to_pylist()


def test_rows_come_as_arrow(connection):
    found = rows(connection, "SELECT 1::int AS a, 'größer' AS b, 1.5::float8 AS c, true AS d, NULL::bigint AS e")
    assert found == [{"a": 1, "b": "größer", "c": 1.5, "d": True, "e": None}]
    assert len(rows(connection, "SELECT v FROM generate_series(1, 10000) AS t(v)")) == 10_000


def test_parameters_are_arrow_too(session):
    with session.cursor() as cursor:
        cursor.execute("SELECT $1::bigint + 1 AS a, $2::text AS b", parameters=(41, "größer"))
        assert cursor.fetch_arrow_table().to_pylist() == [{"a": 42, "b": "größer"}]


def people(first, last):
    """Numbers, texts, measures, yes or no, and days; the second of each is nothing."""
    def but_second(values):
        return [None if at % 10 == 1 else value for at, value in enumerate(values)]

    numbers = list(range(first, last))
    return pyarrow.table({
        "id": pyarrow.array(numbers, pyarrow.int64()),
        "name": pyarrow.array(but_second([f"größer {number}" for number in numbers]), pyarrow.string()),
        "price": pyarrow.array(but_second([number * 1.5 for number in numbers]), pyarrow.float64()),
        "right": pyarrow.array(but_second([number % 3 == 0 for number in numbers]), pyarrow.bool_()),
        "day": pyarrow.array(but_second([datetime.date(2024, 2, 29)] * len(numbers)), pyarrow.date32()),
    })


def test_arrow_is_ingested_into_tables(session):
    name = f"t_{uuid.uuid4().hex}"
    with session.cursor() as cursor:
        def table():
            cursor.execute(f"SELECT * FROM {name} ORDER BY id")
            return cursor.fetch_arrow_table().to_pylist()

        assert cursor.adbc_ingest(name, people(0, 10_000), mode="create") == 10_000
        assert table() == people(0, 10_000).to_pylist()
        with pytest.raises(adbc_driver_postgresql.dbapi.Error, match="exist"):
            cursor.adbc_ingest(name, people(0, 10), mode="create")
        # In pieces, as a long stream comes.
        more = pyarrow.RecordBatchReader.from_batches(people(0, 1).schema, people(10_000, 20_000).to_batches(max_chunksize=1000))
        assert cursor.adbc_ingest(name, more, mode="append") == 10_000
        assert table() == people(0, 10_000).to_pylist() + people(10_000, 20_000).to_pylist()
        cursor.adbc_ingest(name, people(5, 8), mode="replace")
        assert table() == people(5, 8).to_pylist()
        cursor.adbc_ingest(name, people(20, 21), mode="create_append")
        assert [row["id"] for row in table()] == [5, 6, 7, 20]
        cursor.execute(f"DROP TABLE {name}")


def test_a_table_that_is_not_there_is_not_appended_to(session):
    with session.cursor() as cursor, pytest.raises(adbc_driver_postgresql.dbapi.Error, match="nowhere"):
        cursor.adbc_ingest("nowhere", people(0, 3), mode="append")


def test_tables_have_a_schema_and_are_listed(session):
    name = f"t_{uuid.uuid4().hex}"
    with session.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} (id bigint, name text, day date)")
        schema = session.adbc_get_table_schema(name)
        assert [(field.name, str(field.type)) for field in schema] == [("id", "int64"), ("name", "string"), ("day", "date32[day]")]
        objects = session.adbc_get_objects(depth="columns", table_name_filter=name).read_all().to_pylist()
        tables = [table for catalog in objects for schema in catalog["catalog_db_schemas"] or [] for table in schema["db_schema_tables"] or []]
        assert [(table["table_name"], [column["column_name"] for column in table["table_columns"]]) for table in tables] == [
            (name, ["id", "name", "day"])
        ]
        cursor.execute(f"DROP TABLE {name}")
