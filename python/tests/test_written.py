"""JSON that commands print: whatever its number of rows, what `json.dumps` of all of them says."""

import json
from typing import Any

import pyarrow as pa
import pytest
from fathom.pages import written
from fathom.run.store import as_json


def table(rows: int) -> pa.Table:
    return pa.table({
        "id": pa.array(range(rows), pa.uint64()), "path": [f"/ä\n\"{n}'" for n in range(rows)],
        "seconds": [float("nan") if n % 2 else n / 3 for n in range(rows)],
    })  # fmt: skip


def printed(capsys: pytest.CaptureFixture[str], content: Any) -> str:
    written.show(content)
    return capsys.readouterr().out


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 7])
def test_rows_are_written_some_at_a_time(
    rows: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(written, "ROWS", 3)
    table_ = table(rows)
    text = printed(capsys, table_)
    assert json.loads(text) == as_json(table_)
    assert len(text.splitlines()) == (rows + 2 if rows else 1)
    content = {"format": 1, "none": None, "said": {"a": [1, "b"]}, "rows": table_, "last": []}
    assert json.loads(printed(capsys, content)) == {**content, "rows": as_json(table_)}


def test_an_object_of_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert printed(capsys, {}) == "{}\n"
