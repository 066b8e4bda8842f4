"""`fathom view` from outside: who is let in, what is answered, what hostile requests get."""

import json
import socket
import stat
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fathom.__main__ import main
from fathom.errors import UsageError
from fathom.webapi.serve import listen
from serve.served import Server, served


@pytest.fixture(scope="module")
def server(shared_run: Path) -> Iterator[Server]:
    with served(shared_run) as one:
        one.enter()
        yield one


def test_answers_as_json(server: Server) -> None:
    status, answer = server.ask("runs")
    assert status == 200
    assert [run["name"] for run in answer["runs"]] == ["small"]
    status, answer = server.ask("lanes?run=small")
    assert (status, len(answer["rows"])) == (200, 2)


def test_the_link_works_once_and_the_next_is_printed(run_directory: Path) -> None:
    with served(run_directory) as server:
        assert server.get("/api/v1/runs")[0] == 401
        assert server.get("/?token=")[0] == 401
        assert server.get(f"/?token={server.token[:-1]}")[0] == 401
        assert server.get(f"/api/v1/runs?token={server.token}")[0] == 401
        status, headers, body = server.get(f"/?token={server.token}")
        assert status == 200
        assert "Set-Cookie" not in headers  # every server of this host would be sent it
        assert server.token.encode() not in body
        assert server.get(f"/?token={server.token}")[0] == 401
        assert server.process.stdout
        server.link = server.process.stdout.readline().strip()
        server.enter()
        assert server.ask("runs")[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"}, {"Host": "localhost.evil.example:1"}, {"Host": "127.0.0.1:80@evil"}, {"Host": ""},
        {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://localhost:1"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "no-cors"},
        {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": "cors"},
    ],
)  # fmt: skip
def test_other_hosts_and_pages_are_refused(server: Server, headers: dict[str, str]) -> None:
    assert server.get("/api/v1/runs", **headers)[0] == 403
    assert server.get(f"/?token={server.token}", **headers)[0] == 403


def test_a_wrong_key_is_none(server: Server) -> None:
    right = server.key
    for wrong in (right[:-1], "", f"{right}.", "\xe9"):
        server.key = wrong
        assert server.get("/api/v1/runs")[0] == 401
    server.key = right
    assert server.get("/api/v1/runs", Authorization=right)[0] == 401
    assert server.get("/api/v1/runs", Authorization="", Cookie=f"fathom={right}")[0] == 401


def test_every_answer_has_the_safe_headers(server: Server) -> None:
    for path in ("/", "/api/v1/runs", "/api/v1/nothing", "/nowhere"):
        _, headers, _ = server.get(path)
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert "Server" not in headers


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("nothing", 400), ("lanes", 400), ("lanes?run=other", 404), ("lanes?run=../small", 404), ("lanes?run=%00", 404),
        ("lanes?run=small&run=small", 400), ("lanes?run=small&x=1", 400), ("lanes?run=small&t=1", 400),
        ("lanes?run=small&lanes=0-99999999999999999999", 400), ("lanes?run=small&layers=%27;drop%20view%20calls", 200),
        ("../../../etc/passwd", 404), ("%2e%2e%2fetc%2fpasswd", 404), ("lanes/", 404), ("", 404),
    ],
)  # fmt: skip
def test_hostile_requests_are_one_line(server: Server, path: str, expected: int) -> None:
    status, answer = server.ask(path)
    assert status == expected
    if status != 200:
        assert list(answer) == ["error"] and "\n" not in answer["error"]
    assert server.ask("lanes?run=small")[0] == 200


def test_only_reading_methods(server: Server) -> None:
    for method in ("PUT", "DELETE", "OPTIONS"):
        assert server.get("/api/v1/runs", method=method)[0] == 405


def test_what_is_long_comes_in_the_body_of_a_post(server: Server) -> None:
    body = json.dumps({"name": "a.c", "text": "x\n" * 200_000}).encode()
    status, _, answer = server.get("/api/v1/hints", "POST", body)
    assert status == 200 and b"no block of hints" in answer
    for wrong in (b"{", b"[]", b'{"name": 1}', b'{"name": "a.c", "what": "x"}'):
        status, _, answer = server.get("/api/v1/hints", "POST", wrong)
        assert status == 400 and list(json.loads(answer)) == ["error"], wrong
    assert server.get("/api/v1/hints?name=b.c", "POST", body)[0] == 400
    asked = json.dumps({"run": "small", "q": "select 1 as one" + " " * 100_000}).encode()
    assert json.loads(server.get("/api/v1/sql", "POST", asked)[2])["rows"] == [[1]]
    assert server.get("/api/v1/hints?name=b.c")[0] == 405
    assert server.get("/api/v1/hints", "POST", b" " * (17 << 20))[0] == 400


def test_large_answers_are_compressed(server: Server) -> None:
    _, headers, _ = server.get("/api/v1/schema?run=small", Accept_Encoding="gzip")
    assert headers["Content-Encoding"] == "gzip"


def test_a_socket_only_its_owner_may_open(run_directory: Path, tmp_path: Path) -> None:
    path = tmp_path / "view.sock"
    with served(run_directory, "--socket", path) as server:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert server.get("/api/v1/runs")[0] == 401
        server.enter()
        assert server.ask("runs")[0] == 200
        assert main(["view", str(run_directory), "--socket", str(path)]) == 2
    assert not path.exists()


def test_of_several_that_begin_at_once_one_has_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "view.sock"
    is_served = listen._is_served

    def slowly(path: Path) -> bool:
        served = is_served(path)
        time.sleep(0.01)
        return served

    monkeypatch.setattr(listen, "_is_served", slowly)
    for _ in range(3):
        with socket.socket(socket.AF_UNIX) as left:
            left.bind(str(path))
        together = threading.Barrier(8)

        def begin(together: threading.Barrier = together) -> socket.socket | None:
            together.wait()
            try:
                return listen.on_socket(path)
            except UsageError:
                return None

        with ThreadPoolExecutor(8) as pool:
            each = [one.result() for one in [pool.submit(begin) for _ in range(8)]]
        (only,) = [one for one in each if one]
        only.close()
        path.unlink()


def test_what_lies_at_the_path_is_not_removed(
    run_directory: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "precious"
    path.write_text("x")
    assert main(["view", str(run_directory), "--socket", str(path)]) == 2
    assert "is there already" in capsys.readouterr().err
    assert path.read_text() == "x"


def test_a_port_in_use_is_said(run_directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["view", str(run_directory), "--port", str(taken.getsockname()[1])]) == 3
    assert "leave --port out" in capsys.readouterr().err


def test_it_listens_on_the_loopback_address_only(server: Server) -> None:
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    port = f":{server.where:04X}"
    listening = [line.split()[1] for line in lines if line.split()[3] == "0A"]
    assert [where for where in listening if where.endswith(port)] == [f"0100007F{port}"]
