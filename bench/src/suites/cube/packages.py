"""Sums by key with DuckDB and Polars, for suite `cube` of filbert-bench.

A line of JSON comes in: {"file": path of Arrow rows} to load them, or {"engine": "DuckDB" or "Polars"} to group them. A line goes out:
{}, or {"seconds": 0.1, "groups": 100, "weighted": 1.0}. What is measured is the query until its groups are there as columns.
"""

import json
import os
import sys
import time

import duckdb
import polars
import pyarrow

connection = duckdb.connect()
connection.execute("SET enable_progress_bar = false")
connection.execute(f"SET threads = {os.environ['POLARS_MAX_THREADS']}")
frame = None


def load(path):
    """Both get the rows as a table of their own, in memory."""
    global frame
    with pyarrow.memory_map(path) as file:
        read = pyarrow.ipc.open_file(file).read_all()
        connection.register("read", read)
        connection.execute("CREATE OR REPLACE TABLE rows AS SELECT * FROM read")
        connection.unregister("read")
        frame = polars.from_arrow(read).rechunk()
    return {}


def group(engine):
    begin = time.perf_counter()
    if engine == "DuckDB":
        groups = connection.sql("SELECT k, SUM(v) AS v FROM rows GROUP BY k").to_arrow_table()
    else:
        groups = frame.lazy().group_by("k").agg(polars.col("v").sum()).collect(engine="streaming")
    seconds = time.perf_counter() - begin
    if engine == "DuckDB":
        groups = polars.from_arrow(groups)
    weighted = groups.select(((polars.col("k") & 255).cast(polars.Float64) * polars.col("v")).sum()).item()
    return {"seconds": seconds, "groups": len(groups), "weighted": weighted}


for line in sys.stdin:
    question = json.loads(line)
    try:
        answer = load(question["file"]) if "file" in question else group(question["engine"])
    except Exception as error:
        answer = {"error": str(error)}
    print(json.dumps(answer), flush=True)
