"""pandas against the PostgreSQL door, by SQLAlchemy: frames are read whole, by parameters and in pieces, and written in each way of `to_sql`."""

import datetime
import uuid

import pandas
import pandas.testing
import pytest
import sqlalchemy


@pytest.fixture
def engine(address):
    # As programs make it: with transactions.
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
    return pandas.DataFrame({
        "id": [1, 2, 3],
        "name": ["größer", None, "it's"],
        "price": [1.5, None, -2.25],
        "right": [True, False, True],
        "at": [datetime.datetime(2024, 2, 29, 12, 0, 0, 500_000), datetime.datetime(1969, 12, 31, 23, 59, 59), None],
        "day": [datetime.date(2024, 2, 29), None, datetime.date(1980, 1, 1)],
    })


def same(found, expected):
    pandas.testing.assert_frame_equal(found, expected, check_dtype=False)


def test_a_query_with_parameters_is_a_frame(engine):
    query = sqlalchemy.text("SELECT v, v * 1.5::float8 AS w FROM generate_series(1, 9) AS t(v) WHERE v > :least ORDER BY v LIMIT :many")
    found = pandas.read_sql(query, engine, params={"least": 6, "many": 2})
    same(found, pandas.DataFrame({"v": [7, 8], "w": [10.5, 12.0]}))
    assert found.dtypes.map(str).to_dict() == {"v": "int64", "w": "float64"}
    assert pandas.read_sql(query, engine, params={"least": 9, "many": 2}).empty


def test_a_long_answer_comes_in_pieces(engine):
    with engine.connect().execution_options(stream_results=True) as connection:
        pieces = list(pandas.read_sql("SELECT v FROM generate_series(1, 2500) AS t(v)", connection, chunksize=1000))
    assert [len(piece) for piece in pieces] == [1000, 1000, 500]
    assert sum(int(piece["v"].sum()) for piece in pieces) == 2500 * 2501 // 2


def test_a_frame_becomes_a_table_and_comes_back(engine, name):
    frame().to_sql(name, engine, index=False)
    found = pandas.read_sql_table(name, engine).sort_values("id", ignore_index=True)
    same(found, frame().assign(day=pandas.to_datetime(frame()["day"])))
    assert pandas.read_sql(f"SELECT id FROM {name} WHERE name IS NULL AND price IS NULL AND day IS NULL", engine)["id"].tolist() == [2]
    types = {column["name"]: str(column["type"]) for column in sqlalchemy.inspect(engine).get_columns(name)}
    assert types == {
        "id": "BIGINT", "name": "TEXT", "price": "DOUBLE PRECISION", "right": "BOOLEAN", "at": "TIMESTAMP", "day": "DATE",
    }


def test_a_table_that_is_there_is_kept_appended_or_replaced(engine, name):
    count = sqlalchemy.text(f"SELECT count(*) FROM {name}")
    frame().to_sql(name, engine, index=False)
    with pytest.raises(ValueError, match="already exists"):
        frame().to_sql(name, engine, index=False)
    with engine.connect() as connection:
        assert connection.execute(count).scalar() == 3
    frame().to_sql(name, engine, index=False, if_exists="append", method="multi")
    with engine.connect() as connection:
        assert connection.execute(count).scalar() == 6
    other = pandas.DataFrame({"word": ["a", "b"]})
    other.to_sql(name, engine, index=False, if_exists="replace")
    same(pandas.read_sql_table(name, engine).sort_values("word", ignore_index=True), other)


def test_the_index_of_a_frame_is_a_column(engine, name):
    pandas.DataFrame({"v": [10, 20]}, index=pandas.Index([7, 8], name="key")).to_sql(name, engine)
    found = pandas.read_sql_table(name, engine, index_col="key").sort_index()
    assert found["v"].to_dict() == {7: 10, 8: 20}
