"""connectorx against the PostgreSQL door: each protocol that it has, and answers in parts."""

import datetime
import decimal

import connectorx
import pytest

# What it calls binary is its own choice where none is named: COPY in binary; csv is COPY as text; cursor and simple are queries.
PROTOCOLS = ["binary", "csv", "cursor", "simple"]


@pytest.fixture
def uri(address):
    return f"postgresql://ann@{address}/filbert"


def rows(uri, query, **how):
    return connectorx.read_sql(uri, query, return_type="arrow", **how).to_pylist()


def test_binary_is_its_own_choice(uri):
    assert rows(uri, "SELECT 1::int AS a, 'größer' AS b, NULL::bigint AS c") == [{"a": 1, "b": "größer", "c": None}]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_values_come_back(uri, protocol):
    query = (
        "SELECT * FROM (VALUES (1::bigint, 7::int, 1.5::float8, true, 'größer', DATE '2024-02-29', TIMESTAMP '2024-02-29 12:00:00.5'), "
        "(2, NULL, NULL, false, NULL, NULL, NULL)) AS t(a, b, c, d, e, f, g) ORDER BY a"
    )
    assert rows(uri, query, protocol=protocol) == [
        {"a": 1, "b": 7, "c": 1.5, "d": True, "e": "größer", "f": datetime.date(2024, 2, 29),
         "g": datetime.datetime(2024, 2, 29, 12, 0, 0, 500_000)},
        {"a": 2, "b": None, "c": None, "d": False, "e": None, "f": None, "g": None},
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_decimals_keep_their_digits(uri, protocol):
    found = rows(uri, "SELECT CAST('12.340' AS DECIMAL(10, 3)) AS x", protocol=protocol)
    assert [decimal.Decimal(row["x"]) for row in found] == [decimal.Decimal("12.34")]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_many_rows_come(uri, protocol):
    found = connectorx.read_sql(uri, "SELECT v FROM generate_series(1, 20000) AS t(v)", protocol=protocol, return_type="arrow")
    assert sum(found["v"].to_pylist()) == 20_000 * 20_001 // 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_parts_are_read_beside_each_other(uri, protocol):
    query = "SELECT v, 'n' || v AS w FROM generate_series(1, 1000) AS t(v)"
    found = rows(uri, query, partition_on="v", partition_num=4, protocol=protocol)
    assert sorted((row["v"], row["w"]) for row in found) == [(v, f"n{v}") for v in range(1, 1001)]


def test_a_pandas_frame_comes_too(uri):
    found = connectorx.read_sql(uri, "SELECT v FROM generate_series(1, 3) AS t(v) ORDER BY v")
    assert found["v"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_an_error_is_one(uri, protocol):
    with pytest.raises(RuntimeError, match="nowhere"):
        rows(uri, "SELECT * FROM nowhere", protocol=protocol)
