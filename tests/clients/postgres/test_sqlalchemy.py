"""SQLAlchemy against the PostgreSQL door: what its inspector says of tables, and rows through its expressions."""

import uuid

import pytest
import sqlalchemy


@pytest.fixture
def engine(address):
    engine = sqlalchemy.create_engine(f"postgresql+psycopg://ann@{address}/filbert", isolation_level="AUTOCOMMIT")
    yield engine
    engine.dispose()


@pytest.fixture
def table(engine):
    """A map of numbers to texts with a view of it."""
    name = f"t_{uuid.uuid4().hex}"
    with engine.connect() as connection:
        connection.exec_driver_sql(
            f"CREATE MAPPING {name} (__key BIGINT, this VARCHAR) TYPE IMap OPTIONS ('keyFormat' = 'bigint', 'valueFormat' = 'varchar')"
        )
        connection.exec_driver_sql(f"INSERT INTO {name} VALUES (1, 'one'), (2, 'two')")
        connection.exec_driver_sql(f"CREATE VIEW v_{name} AS SELECT * FROM {name}")
    yield name
    with engine.connect() as connection:
        connection.exec_driver_sql(f"DROP VIEW v_{name}")
        connection.exec_driver_sql(f"DELETE FROM {name}")
        connection.exec_driver_sql(f"DROP MAPPING {name}")


def test_the_inspector_finds_tables_and_columns(engine, table):
    inspector = sqlalchemy.inspect(engine)
    assert "public" in inspector.get_schema_names()
    assert inspector.default_schema_name == "public"
    assert table in inspector.get_table_names()
    assert f"v_{table}" not in inspector.get_table_names()
    assert inspector.get_view_names() == [f"v_{table}"]
    assert inspector.has_table(table) and not inspector.has_table("nothing")
    columns = {column["name"]: str(column["type"]) for column in inspector.get_columns(table)}
    assert columns == {"__key": "BIGINT", "this": "TEXT"}
    assert inspector.get_pk_constraint(table)["constrained_columns"] == []
    assert inspector.get_foreign_keys(table) == []
    assert inspector.get_unique_constraints(table) == []
    assert inspector.get_check_constraints(table) == []
    assert inspector.get_indexes(table) == []
    assert inspector.get_table_comment(table) == {"text": None}
    assert inspector.get_sequence_names() == []


def test_a_table_is_reflected_and_queried(engine, table):
    reflected = sqlalchemy.Table(table, sqlalchemy.MetaData(), autoload_with=engine)
    assert reflected.columns.keys() == ["__key", "this"]
    with engine.connect() as connection:
        query = sqlalchemy.select(reflected.c.this).where(reflected.c["__key"] > 1)
        assert connection.execute(query).scalars().all() == ["two"]
        count = sqlalchemy.select(sqlalchemy.func.count().label("n")).select_from(reflected)
        assert connection.execute(count).scalar() == 2
