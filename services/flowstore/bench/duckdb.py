"""Answers questions about a Parquet file from a native table of DuckDB, in as many runs as asked, and prints answers as JSON."""

import json
import os
import resource
import sys
import time

import duckdb

parquet, runs, questions = sys.argv[1], int(sys.argv[2]), json.loads(sys.argv[3])
db = duckdb.connect(parquet + ".duckdb", config={"threads": os.cpu_count()})
db.execute("SET enable_progress_bar = false")  # it would stand before the answers
db.execute(f"CREATE OR REPLACE TABLE day AS SELECT * FROM '{parquet}' ORDER BY start")


def used():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


answers = []
for name, sql in questions:
    a = {"question": name, "program": "DuckDB " + duckdb.__version__, "seconds": [], "cpu_seconds": []}
    for _ in range(runs):
        wall, cpu = time.monotonic(), used()
        rows, total = db.execute(sql).fetchone()
        a["seconds"].append(time.monotonic() - wall)
        a["cpu_seconds"].append(used() - cpu)
    a["rows"], a["bytes"] = rows, int(total)
    answers.append(a)
json.dump(answers, sys.stdout)
