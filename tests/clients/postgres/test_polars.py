"""polars against the PostgreSQL door: by SQLAlchemy, by connectorx and by ADBC, reading and writing."""

import datetime
import uuid

import polars
import polars.testing
import pytest
import sqlalchemy


@pytest.fixture
def uri(address):
    return f"postgresql://ann@{address}/filbert"


@pytest.fixture
def engine(address):
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://ann@{address}/filbert")
    yield engine
    engine.dispose()


@pytest.fixture
def name(engine):
    """The name of a table that a test makes."""
    name = f"t_{uuid.uuid4().hex}"
    yield name
    with engine.begin() as connection:
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {name}")


def frame():
    return polars.DataFrame({
        "id": [1, 2, 3],
        "name": ["größer", None, "it's"],
        "price": [1.5, None, -2.25],
        "right": [True, False, True],
        "day": [datetime.date(2024, 2, 29), None, datetime.date(1980, 1, 1)],
    })


def test_a_query_is_a_frame(engine):
    query = "SELECT v, v * 1.5::float8 AS w FROM generate_series(1, 9) AS t(v) WHERE v > :least ORDER BY v LIMIT :many"
    found = polars.read_database(query, engine, execute_options={"parameters": {"least": 6, "many": 2}})
    polars.testing.assert_frame_equal(found, polars.DataFrame({"v": [7, 8], "w": [10.5, 12.0]}))


def test_a_long_answer_comes_in_pieces(engine):
    query = "SELECT v FROM generate_series(1, 2500) AS t(v)"
    pieces = list(polars.read_database(query, engine, iter_batches=True, batch_size=1000))
    assert [piece.height for piece in pieces] == [1000, 1000, 500]
    assert sum(piece["v"].sum() for piece in pieces) == 2500 * 2501 // 2


@pytest.mark.parametrize("by", ["connectorx", "adbc"])
def test_an_address_is_enough_to_read(uri, by):
    query = (
        "SELECT * FROM (VALUES (1::bigint, 'größer', 1.5::float8, true, DATE '2024-02-29'), (2, NULL, NULL, false, NULL), "
        "(3, 'it''s', -2.25, true, DATE '1980-01-01')) AS t(id, name, price, \"right\", day) ORDER BY id"
    )
    polars.testing.assert_frame_equal(polars.read_database_uri(query, uri, engine=by), frame())
    found = polars.read_database_uri("SELECT v FROM generate_series(1, 20000) AS t(v)", uri, engine=by)
    assert found["v"].sum() == 20_000 * 20_001 // 2


def test_an_answer_is_read_in_parts(uri):
    query = "SELECT v FROM generate_series(1, 1000) AS t(v)"
    found = polars.read_database_uri(query, uri, partition_on="v", partition_num=4, engine="connectorx")
    assert sorted(found["v"]) == list(range(1, 1001))


@pytest.mark.parametrize("by", ["sqlalchemy", "adbc"])
def test_a_frame_becomes_a_table_is_appended_and_replaced(uri, engine, name, by):
    to = engine if by == "sqlalchemy" else uri

    def table():
        return polars.read_database(f"SELECT * FROM {name} ORDER BY id", engine)

    frame().write_database(name, to, engine=by)
    polars.testing.assert_frame_equal(table(), frame())
    with pytest.raises(Exception, match="exist"):
        frame().write_database(name, to, engine=by)
    frame().with_columns(polars.col("id") + 3).write_database(name, to, engine=by, if_table_exists="append")
    assert table()["id"].to_list() == [1, 2, 3, 4, 5, 6]
    other = polars.DataFrame({"id": [9], "word": ["a"]})
    other.write_database(name, to, engine=by, if_table_exists="replace")
    polars.testing.assert_frame_equal(table(), other)
