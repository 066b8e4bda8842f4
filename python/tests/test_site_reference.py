"""The site's reference: what accesses cost in other runs on a mount prices those of a run that shows too little."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fathom
import pytest
from fathom.__main__ import main
from fathom.analysis.account import bar, prepare
from fathom.run import site
from schema import counters_of, write_run

LARGE, SMALL = 1 << 20, 4096
#: Seconds of a request, and of a byte, within what the catalog has of Lustre.
REQUEST, PER_BYTE = 1e-3, 2e-9
MOUNT = {"kind": "regular", "key": "lustre:x", "file_system": "lustre", "mount": "/scratch"}


def run_on(
    place: Path, sizes: list[int], slower: float = 1.0, mount: dict[str, str] = MOUNT
) -> Path:
    """One process that writes pieces of these sizes to a file of its own."""
    calls: list[dict[str, Any]] = []
    start = offset = 0
    for number, size in enumerate(sizes):
        took = round(slower * (REQUEST + size * PER_BYTE) * 1e9)
        calls.append(
            {"id": number, "process": 0, "stream": 0, "layer": "posix", "op": "write", "kind": "write", "file": 0,
             "start": start, "duration": took, "bytes": size, "file_offset": offset, "depth": 0, "state": "done"}
        )  # fmt: skip
        start, offset = start + took, offset + size
    return write_run(
        place,
        runs=[{"duration": start + 1000, "coverage": 1.0}],
        processes=[{"process": 0, "rank": 0, "ended": "clean"}],
        files=[{"file": 0, "path": "/scratch/out/f", **mount}],
        calls=calls,
        counters=counters_of(calls),
    )


@pytest.fixture
def file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The site's, of two runs that show what accesses cost, and one that does not."""
    sizes = [SMALL, LARGE] * 20
    runs = [run_on(tmp_path / f"{n}.fathom", sizes, slower) for n, slower in enumerate((1, 1.5))]
    runs.append(run_on(tmp_path / "small.fathom", [SMALL] * 10))
    path = tmp_path / "site.json"
    assert main(["landscape", *map(str, runs), "--site", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "/scratch" in printed and "lustre" in printed
    return path


def reference(run: Path) -> dict[str, Any]:
    """What a write to its file costs, and where that is from."""
    opened = fathom.open(run)
    prepare(opened, "account_references()")
    (row,) = opened.sql("from account_references() where file = 0 and kind = 'write'").to_pylist()
    return {**row, "references": bar(opened).references}


def test_the_file_has_medians_and_the_best_tenth(file: Path) -> None:
    (row,) = site.read(file)
    assert (row.file_system, row.mount, row.kind, row.runs) == ("lustre", "/scratch", "write", 2)
    large = PER_BYTE + REQUEST / LARGE
    assert row.per_byte == pytest.approx(1.25 * large, rel=0.01)
    assert row.per_byte_best == pytest.approx(1.05 * large, rel=0.01)
    assert row.request == pytest.approx(1.25 * REQUEST, rel=0.1)
    assert row.request_best == pytest.approx(1.05 * REQUEST, rel=0.1)


def test_a_run_that_shows_too_little_is_priced_by_the_site(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    little = run_on(tmp_path / "little.fathom", [65536] * 10)
    without = reference(little)
    assert (without["learnt"], without["references"]) == ("catalog", ["catalog"])
    assert main(["show", str(little), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["account"]["references"] == ["catalog"]
    monkeypatch.setenv("FATHOM_SITE", str(file))
    (known,) = site.read(file)
    priced = reference(little)
    assert (priced["learnt"], priced["references"]) == ("site", ["site"])
    assert priced["per_byte"] == known.per_byte
    assert priced["per_byte_low"] == known.per_byte_best
    assert priced["request"] == known.request
    # What was found without the file is not given again.
    assert main(["show", str(little), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["account"]["references"] == ["site"]


def test_a_runs_own_accesses_go_first_and_other_mounts_are_the_catalogs(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_SITE", str(file))
    own = run_on(tmp_path / "own.fathom", [LARGE] * 10, 2.0)
    assert reference(own)["learnt"] == "run"
    for name, other in (("mount", "/other"), ("file_system", "gpfs")):
        elsewhere = run_on(tmp_path / f"{name}.fathom", [65536] * 10, mount=MOUNT | {name: other})
        assert reference(elsewhere)["learnt"] == "catalog"


def test_what_depends_on_the_file_is_worked_out_anew(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert site.sign() == ""
    monkeypatch.setenv("FATHOM_SITE", str(file))
    first = site.sign()
    site.write(file, [*site.read(file)] * 2)
    assert "" != first != site.sign()


ROW = {
    "file_system": "lustre", "mount": "/scratch", "kind": "write", "runs": 2, "request": None, "request_best": None,
    "per_byte": 1e-9, "per_byte_best": 1e-9,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "No such file"),
        ("{", "Expecting"),
        ("[]", "list indices"),
        ('{"format": 2}', "format 2 is not 1"),
        ('{"format": 1}', "no references"),
        (json.dumps({"format": 1, "references": [{**ROW, "per_byte": 0}]}), "per_byte is a number"),
        (json.dumps({"format": 1, "references": [{**ROW, "kind": "open"}]}), "kind is read or"),
        (json.dumps({"format": 1, "references": [{**ROW, "request": "1"}]}), "request is a number"),
        (json.dumps({"format": 1, "references": [{**ROW, "mount": 1}]}), "are text"),
    ],
)
def test_a_damaged_file_is_one_line(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    text: str | None,
    says: str,
) -> None:
    path = tmp_path / "site.json"
    if text is not None:
        path.write_text(text)
    monkeypatch.setenv("FATHOM_SITE", str(path))
    run = run_on(tmp_path / "r.fathom", [SMALL] * 10)
    assert main(["show", str(run)]) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and printed.err.count("\n") == 1
    assert str(path) in printed.err and says in printed.err


def test_runs_that_show_nothing_write_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, path = run_on(tmp_path / "r.fathom", [LARGE] * 3), tmp_path / "site.json"
    assert main(["landscape", str(run), "--site", str(path)]) == 3
    assert "no run shows what a byte costs" in capsys.readouterr().err
    assert not path.exists()
