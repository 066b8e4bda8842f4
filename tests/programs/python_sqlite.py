"""A database written and read by Python's own sqlite3."""

import sqlite3
import sys

connection = sqlite3.connect(sys.argv[1])
connection.execute("create table t (a integer, b text)")
for i in range(1000):
    connection.execute("insert into t values (?, ?)", (i, "x" * 50))
    if i % 200 == 0:
        connection.commit()
connection.commit()
print(connection.execute("select count(*) from t").fetchone()[0], "rows")
connection.close()
