"""Runs statements on DuckDB for suite `sql` of filbert-bench.

A line of JSON comes in for every statement: {"sql": "..."}; a line goes out: {"seconds": 0.1, "rows": [[...], ...]}, or {"error": "..."}.
What is measured is the statement and the fetch of its rows, not the pipe.
"""

import decimal
import json
import sys
import time

import duckdb


def plain(value):
    """What JSON has no word for: decimals are numbers, dates are text."""
    return float(value) if isinstance(value, decimal.Decimal) else str(value)


connection = duckdb.connect()
connection.execute("SET enable_progress_bar = false")
for line in sys.stdin:
    statement = json.loads(line)["sql"]
    try:
        begin = time.perf_counter()
        rows = connection.execute(statement).fetchall()
        answer = {"seconds": time.perf_counter() - begin, "rows": rows}
    except duckdb.Error as error:
        answer = {"error": str(error)}
    print(json.dumps(answer, default=plain), flush=True)
