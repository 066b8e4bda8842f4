"""Selection files from short forms, and a node's page changed in place."""

import struct
import tomllib
from pathlib import Path

import pytest
from fathom.errors import RunError, UsageError
from fathom.run import control
from fathom.run.filter import compile_text, from_options, patched

STARTED = {"layers": ["posix", "mpiio"], "counted": ["mpi"], "selection": ""}


@pytest.mark.parametrize(
    ("level", "layers", "files", "table"),
    [
        ("call", None, [], {"call": {}}),
        ("job", "posix,mpi:counted", [], {"job": {"layers": ["posix", "mpi:counted"]}}),
        ("file", "-mpiio", [], {"file": {"layers": ["posix", "mpi:counted"]}}),
        ("call", "+mpi,+user", [], {"call": {"layers": ["posix", "mpiio", "mpi", "user"]}}),
        ("call", None, ['a"b*', "!ü"], {"call": {"files": ['a"b*', "!ü"]}}),
        ("off", "posix", ["*"], {}),
    ],
)
def test_short_forms_are_selection_files(
    level: str, layers: str | None, files: list[str], table: dict[str, object]
) -> None:
    text = from_options(level, layers, files, STARTED)
    assert tomllib.loads(text) == table
    assert compile_text(text, "x", []).startswith("fathom-selection 1\nsays ")


def test_layers_that_are_patched() -> None:
    asked = STARTED | {"selection": '[job]\n[call]\nlayers = ["threads", "aio:counted"]\n'}
    assert patched(asked) == {"posix", "mpiio", "mpi", "threads", "aio"}


def test_a_mistake_is_named_by_its_file() -> None:
    with pytest.raises(UsageError, match=r"^dir/s\.toml:2: call: no key 'x'"):
        compile_text("[call]\nx = 1\n", "dir/s.toml", [])


def page(magic: bytes, *numbers: int) -> bytes:
    return (magic + struct.pack(f"<{len(numbers)}Q", *numbers)).ljust(4096, b"\0")


def test_a_change_asks_every_ring_anew(tmp_path: Path) -> None:
    (tmp_path / "control").write_bytes(page(b"FATHOMCP", 1 | 4096 << 32, 7, 1, 64, 0))
    (tmp_path / "selection.1").write_text("old")
    (tmp_path / "1.aa.ring").write_bytes(page(b"FATHOMRG", 0, 0, 0, 0, 0, 0, 0, 99))
    (tmp_path / "2.bb.ring").write_bytes(b"torn")
    assert control.Node(tmp_path).change("new\n") == 2
    words = struct.unpack("<6Q", (tmp_path / "control").read_bytes()[:48])
    assert words[2:] == (0, 2, 64, 2)
    assert struct.unpack("<Q", (tmp_path / "1.aa.ring").read_bytes()[64:72]) == (0,)
    assert (tmp_path / "2.bb.ring").read_bytes() == b"torn"
    assert (tmp_path / "selection.2").read_text() == "new\n"
    assert not (tmp_path / "selection.1").exists()


def test_a_page_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "control").write_bytes(page(b"NOTHINGS", 0))
    with pytest.raises(RunError, match="not as fathom wrote it"):
        control.Node(tmp_path).change("new\n")
