"""SQL of a user: whatever it asks, a line is the answer, and the server lives on."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from fathom.errors import UsageError
from fathom.run.confined import Process, Question, TooLarge
from serve.served import Server, served

#: One value of each is as large as a machine; the database counts none of them.
LARGE = [
    "select len(range(3000000000))",
    "select len(generate_series(1, 1000000000))",
    "select bitstring('1', 2000000000)",
    "select repeat('x', 4000000000)",
    "select list(range) from range(2000000000)",
    "select array_agg(repeat('x', 1000000)) from range(5000)",
]
#: These fit, but nobody wants such an answer.
LONG = ["select repeat('x', 300000000)", "select repeat('x', 1000000) from range(200)"]


@pytest.fixture(scope="module")
def server(shared_run: Path) -> Iterator[Server]:
    with served(shared_run) as one:
        one.enter()
        yield one


def resident(server: Server) -> int:
    """MiB that the server itself had at most."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


@pytest.mark.some(3)
@pytest.mark.parametrize("statement", [*LARGE, *LONG])
def test_a_value_as_large_as_the_machine(server: Server, statement: str) -> None:
    status, answer = server.ask(f"sql?run=small&q={quote(statement)}")
    assert status == 422 and "ask for less" in answer["error"]  # memory, or time on a busy machine
    assert resident(server) < 1024
    assert server.ask("sql?run=small&q=select%201%20as%20one")[1]["rows"] == [[1]]


def test_mistakes_are_as_elsewhere(server: Server) -> None:
    for statement, line in (
        ("drop table calls", "only reading is allowed"),
        ("select 1; select 2", "one statement"),
        ("select 1) ; copy (select 1", "SQL"),
        ("from nothing", "nothing does not exist"),
        ("from read_text('/etc/passwd')", "SQL"),
        ("(" * 60_000, "SQL"),
    ):
        status, answer = posted(server, statement)
        assert status == 400 and line in answer["error"], statement[:40]


def posted(server: Server, statement: str) -> tuple[int, dict[str, str]]:
    body = json.dumps({"run": "small", "q": statement}).encode()
    status, _, answer = server.get("/api/v1/sql", "POST", body)
    return status, json.loads(answer)


def test_rows_beyond_the_limit_are_counted(server: Server) -> None:
    _, answer = server.ask("sql?run=small&q=from%20range(100)&limit=3")
    assert (len(answer["rows"]), answer["total"]) == (3, 100)


def test_one_that_does_not_end_is_ended(shared_run: Path) -> None:
    endless = "select list_reduce(range(100000000), lambda x, y: x + y)"
    process = Process(Question(str(shared_run), endless, False, 1, 2048, 1))
    time.sleep(2)
    process.interrupt()
    with pytest.raises(TooLarge):
        process.rows()


def test_a_statement_of_query_is_limited(shared_run: Path) -> None:
    script = (
        "import sys; from fathom.run import confined; confined.machine = lambda: 1024;"
        "from fathom.__main__ import main; sys.exit(main(sys.argv[1:]))"
    )
    for statement in LARGE:
        words = ["query", str(shared_run), "--sql", statement]
        done = subprocess.run(
            [sys.executable, "-c", script, *words], capture_output=True, text=True, check=False
        )
        assert done.returncode == UsageError.status, done.stderr
        assert done.stderr.startswith("fathom: ") and "memory" in done.stderr, done.stderr
