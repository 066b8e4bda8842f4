"""The golden frames are what the document says."""

import subprocess
import sys
from pathlib import Path

from .golden import GOLDEN, description, frames
from .wire import NUMBERS, OPS, ROOT


def test_golden_frames_are_what_the_document_says() -> None:
    golden_frames = frames()
    assert {path.stem for path in GOLDEN.glob("*.frame")} == set(golden_frames)
    for name, data in golden_frames.items():
        assert (GOLDEN / f"{name}.frame").read_bytes() == data, name
    assert (GOLDEN / "frames.txt").read_text() == description()


def test_the_documents_operations_have_the_tables_numbers() -> None:
    page = (ROOT / "docs/forwarding-protocol.md").read_text()
    rows = [line.split("|")[1].split() for line in page.splitlines() if line.startswith("| ")]
    said_there = {row[1]: int(row[0]) for row in rows if len(row) == 2 and row[0].isdigit()}
    session = {"hello", "auth", "munge"}  # told in words, under Session
    assert said_there == {name: number for name, number in OPS.items() if name not in session}


def test_the_c_header_has_every_number(tmp_path: Path) -> None:
    header, program = tmp_path / "forward_protocol.h", tmp_path / "numbers.c"
    command = [
        sys.executable,
        ROOT / "forward/constants.py",
        ROOT / "forward/protocol.toml",
        header,
    ]
    subprocess.run(command, check=True)
    checks = [
        f'_Static_assert({f"FWD_{section}_{name}".upper()} == {number}, "");'
        for section, numbers in NUMBERS.items()
        if section != "type"
        for name, number in numbers.items()
    ]
    program.write_text('#include "forward_protocol.h"\n' + "\n".join(checks) + "\n")
    compiled = ["cc", "-std=c11", "-Wall", "-Werror", "-fsyntax-only", program]
    subprocess.run(compiled, check=True)
