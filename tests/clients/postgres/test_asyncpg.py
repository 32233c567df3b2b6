"""asyncpg against the PostgreSQL door: values in binary, arrays, paging, COPY."""

import asyncio
import datetime
import uuid

import asyncpg


def run(address, work):
    """Runs what takes a connection."""
    host, port = address.rsplit(":", 1)

    async def whole():
        connection = await asyncpg.connect(host=host, port=int(port), user="ann", database="filbert")
        try:
            return await work(connection)
        finally:
            await connection.close()

    return asyncio.run(whole())


def test_values_come_back(address):
    async def work(connection):
        return tuple(await connection.fetchrow(
            "SELECT $1::int AS a, $2::text AS b, $3::float8 AS c, $4::timestamptz AS d, $5::date AS e, $6::bytea AS f",
            7, "größer", 1.5, datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc), datetime.date(2024, 2, 29), b"\x00\xff",
        ))

    assert run(address, work) == (
        7, "größer", 1.5, datetime.datetime(2024, 2, 29, 12, tzinfo=datetime.timezone.utc), datetime.date(2024, 2, 29), b"\x00\xff",
    )


def test_arrays_go_both_ways(address):
    async def work(connection):
        numbers = await connection.fetchval("SELECT $1::int[] AS x", [1, None, 3])
        words = await connection.fetchval("SELECT ['a', 'b c'] AS x")
        return numbers, words

    assert run(address, work) == ([1, None, 3], ["a", "b c"])


def test_paging_and_lists_of_ids_need_no_casts(address):
    async def work(connection):
        table = "SELECT value FROM generate_series(1, 9)"
        page = await connection.fetch(f"{table} ORDER BY value LIMIT $1 OFFSET $2", 2, 3)
        some = await connection.fetch(f"{table} WHERE value = ANY($1) ORDER BY value", [2, 7, 11])
        return [row[0] for row in page], [row[0] for row in some]

    assert run(address, work) == ([4, 5], [2, 7])


def test_rows_are_copied_in_and_out(address, tmp_path):
    name = f"t_{uuid.uuid4().hex}"

    async def work(connection):
        await connection.execute(f"CREATE TABLE {name} (id bigint, name text, born date)")
        records = [(number, f"name {number}", datetime.date(2024, 2, 29)) for number in range(20_000)]
        said = await connection.copy_records_to_table(name, records=records, columns=["id", "name", "born"])
        file = tmp_path / "rows.csv"
        await connection.copy_from_query(f"SELECT id, name FROM {name} WHERE id < 2 ORDER BY id", output=str(file), format="csv")
        await connection.copy_to_table(name, source=str(file), columns=["id", "name"], format="csv")
        count = await connection.fetchval(f"SELECT count(*) FROM {name}")
        await connection.execute(f"DROP TABLE {name}")
        return said, file.read_text(), count

    assert run(address, work) == ("COPY 20000", "0,name 0\n1,name 1\n", 20_002)
