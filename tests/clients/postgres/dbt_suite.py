"""dbt against the PostgreSQL door at FILBERT_POSTGRES: a seed, a view and a table, made twice, with the tests of the project.

    python with_door.py <python of dbt's environment> dbt_suite.py

A program and no pytest suite: dbt has an environment of its own, since its pins are not those of the other drivers.
"""

import os
import pathlib
import shutil
import sys
import tempfile

import psycopg2
from dbt.cli.main import dbtRunner

HERE = pathlib.Path(__file__).resolve().parent


def run(*words):
    """Runs a command of dbt; what it made is what it says."""
    done = dbtRunner().invoke([*words, "--quiet", "--no-use-colors"])
    if not done.success:
        sys.exit(f"FAILED  dbt {words[0]}: {done.exception or [node.message for node in done.result if node.message]}")
    return sorted(f"{node.node.name}: {node.status}" for node in done.result)


def same(found, expected, what):
    if found != expected:
        sys.exit(f"FAILED  dbt: {what}: found {found!r} instead of {expected!r}")
    print(f"ok      dbt: {what}")


def main():
    host, port = os.environ["FILBERT_POSTGRES"].rsplit(":", 1)
    os.environ.update(DOOR_HOST=host, DOOR_PORT=port, DO_NOT_TRACK="1")
    with tempfile.TemporaryDirectory(prefix="filbert-dbt-") as folder:
        project = pathlib.Path(folder) / "project"
        shutil.copytree(HERE / "dbt", project)
        os.chdir(project)
        os.environ.update(DBT_PROFILES_DIR=str(project), DBT_LOG_PATH=folder, DBT_TARGET_PATH=f"{folder}/target")
        connection = psycopg2.connect(host=host, port=port, user="ann", dbname="filbert")
        connection.autocommit = True

        def rows(query):
            with connection.cursor() as cursor:
                cursor.execute(query)
                return cursor.fetchall()

        # The second time everything is there already, and is put in the place of the old.
        for time in ["at first", "again"]:
            same(run("seed"), ["cities: success"], f"a seed is loaded {time}")
            same(run("run"), ["large_cities: success", "totals: success"], f"a view and a table are made {time}")
            same(rows("SELECT id, name, people FROM cities ORDER BY id")[2], (3, "Tromsø", 78_000), f"the seed is whole {time}")
            same(rows("SELECT name FROM large_cities ORDER BY name"), [("Bergen",), ("Oslo",)], f"the view has its rows {time}")
            same([tuple(map(int, row)) for row in rows("SELECT cities, people FROM totals")], [(2, 1_000_000)], f"the table has its rows {time}")
            left = rows("SELECT relname FROM pg_class WHERE relname LIKE '%\\_\\_dbt\\_%'")
            same(left, [], f"nothing is left over {time}")
        same(run("test"), ["not_null_large_cities_id: pass", "unique_large_cities_id: pass"], "the tests of the project pass")


if __name__ == "__main__":
    main()
