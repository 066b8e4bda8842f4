"""Where nothing that is recorded ran for a part of a script's run, its page says so."""

import json
from pathlib import Path

import pytest
from fathom.__main__ import main
from schema import write_run

SECOND = 10**9


@pytest.mark.parametrize(
    ("program", "spans", "says"),
    [
        ("bash", [(0.0, 0.3), (0.7, 1.0)], "for 400 ms of 1 s no program ran that is recorded: bash"),
        ("/bin/sh", [(0.0, 0.6), (0.2, 0.4)], "for 400 ms of 1 s no program ran that is recorded: sh"),
        ("bash", [(0.0, 0.5), (0.5, 0.96)], ""),
        ("./sim", [(0.0, 0.3)], ""),
        ("bash", [], ""),
    ],
)  # fmt: skip
def test_what_a_shell_did_itself_is_missing(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    program: str,
    spans: list[tuple[float, float]],
    says: str,
) -> None:
    processes = [
        {"process": n, "start": int(start * SECOND), "stop": int(stop * SECOND)}
        for n, (start, stop) in enumerate(spans)
    ]
    runs = [{"name": "s", "duration": SECOND, "processes": len(spans)}]
    run = write_run(tmp_path / "s.fathom", runs=runs, processes=processes)
    (run / "run.json").write_text(json.dumps({"command": [program, "-c", "…"]}))
    assert main(["show", str(run), "--all"]) == 0
    shown = capsys.readouterr().out
    assert says in shown and ("no program ran" in shown) is bool(says)
