"""psycopg 2 against the PostgreSQL door: the driver that most programs have, and its COPY."""

import datetime
import io
import uuid

import psycopg2
import psycopg2.extras
import pytest


@pytest.fixture
def connection(address):
    host, port = address.rsplit(":", 1)
    connection = psycopg2.connect(host=host, port=port, user="ann", dbname="filbert")
    connection.autocommit = True
    yield connection
    connection.close()


def test_values_come_back(connection):
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s AS a, %s AS b, %s AS c, %s AS d", (7, "größer", datetime.date(2024, 2, 29), [1, 2]))
        assert cursor.fetchone() == (7, "größer", datetime.date(2024, 2, 29), [1, 2])


def test_bytes_that_stand_in_a_statement_come_back(connection):
    name = f"t_{uuid.uuid4().hex}"
    raw = bytes(range(256))
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s AS a", (raw,))
        assert bytes(cursor.fetchone()[0]) == raw
        cursor.execute(f"CREATE TABLE {name} (id bigint, raw bytea)")
        cursor.execute(f"INSERT INTO {name} VALUES (%s, %s)", (1, raw))
        cursor.execute(f"SELECT raw FROM {name} WHERE raw = %s", (raw,))
        assert bytes(cursor.fetchone()[0]) == raw
        cursor.execute(f"DROP TABLE {name}")


def test_moments_are_in_the_zone_of_the_session(connection):
    with connection.cursor() as cursor:
        cursor.execute("SET TIME ZONE 'Europe/Oslo'")
        cursor.execute("SELECT '2000-06-01 12:00:00'::timestamptz AS x")
        moment = cursor.fetchone()[0]
    assert moment == datetime.datetime(2000, 6, 1, 10, tzinfo=datetime.timezone.utc)
    assert moment.utcoffset() == datetime.timedelta(hours=2)


def test_rows_are_copied_in_and_out(connection):
    name = f"t_{uuid.uuid4().hex}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {name} (id bigint, name text)")
        cursor.copy_expert(f"COPY {name} FROM STDIN WITH CSV HEADER", io.StringIO('id,name\n1,"a, b"\n2,\n'))
        assert cursor.rowcount == 2
        out = io.StringIO()
        cursor.copy_expert(f"COPY (SELECT * FROM {name} ORDER BY id) TO STDOUT WITH CSV", out)
        assert out.getvalue() == '1,"a, b"\n2,\n'
        psycopg2.extras.execute_values(cursor, f"INSERT INTO {name} VALUES %s", [(3, "c"), (4, "d")])
        with pytest.raises(psycopg2.errors.InvalidTextRepresentation, match='line 2, column "id"'):
            cursor.copy_expert(f"COPY {name} FROM STDIN", io.StringIO("5\te\nsix\tf\n"))
        cursor.execute(f"SELECT count(*) FROM {name}")
        assert cursor.fetchone() == (4,)
        cursor.execute(f"DROP TABLE {name}")
