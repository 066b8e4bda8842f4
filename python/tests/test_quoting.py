"""Names of files in other languages, read back by those who know them."""

import csv
import io
import json
import random
import shutil
import subprocess
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest
from fathom.text import quoting, tables

NAMES = [
    "plain", "a b", "a'b", 'a"b',
    "a\\b", "a\rb", "a\nb", "a\tb", "$(touch x)`touch y`;z", "x??/n", "\x1b[31m\x07", "\x7f",
    "\x9b31m", "\u202eevil", "\u2028", "\N{GRINNING FACE}*.dat", "\U000e0001", "é", "%s%n",
    "~", "-rf", "", "a,b", "#", "!x", "$0",
]  # fmt: skip


def names() -> list[str]:
    dice = random.Random(3)
    letters = [chr(one) for one in (*range(1, 0x180), 0x2028, 0x202E, 0xFFFF, 0x1F600)]
    return NAMES + ["".join(dice.choices(letters, k=8)) for _ in range(200)]


def test_c_gives_the_same_bytes(tmp_path: Path) -> None:
    if not shutil.which("cc"):
        pytest.skip("no cc")
    every = names()
    texts = ",\n".join(map(quoting.c_string, every))
    (tmp_path / "names.c").write_text(
        f"#include <stdio.h>\nstatic const char *const name[] = {{\n{texts}}};\n"
        f"int main(void) {{ for (int i = 0; i < {len(every)}; i++) {{ fputs(name[i], stdout); putchar(0); }} }}\n",
        encoding="ascii",
    )
    for dialect in ("-std=gnu11", "-std=c11", "-trigraphs"):
        command = ["cc", dialect, "-Wall", "-Wextra", "-Werror", "-o", "names", "names.c"]
        subprocess.run(command, cwd=tmp_path, check=True)
        printed = subprocess.run([tmp_path / "names"], capture_output=True, check=True).stdout
        assert printed.split(b"\0")[:-1] == [one.encode() for one in every]


def test_a_shell_gives_the_same_words() -> None:
    every = [*names(), "bad\udcff"]
    line = quoting.shell(every)
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    assert done.stdout.split(b"\0")[:-1] == [one.encode(errors="surrogateescape") for one in every]


def test_toml_gives_the_same_texts() -> None:
    text = f"names = {quoting.toml(names())}\nn = {quoting.toml(3)}\nb = {quoting.toml(True)}\n"
    assert text.replace("\n", "").isprintable()
    assert tomllib.loads(text) == {"names": names(), "n": 3, "b": True}
    assert tomllib.loads(f"a = {quoting.toml(chr(0xD800))}") == {"a": "?"}


def test_csv_gives_the_same_rows() -> None:
    every = names()
    rows = pa.table({"a,b": every, "n": list(range(len(every))), "list": [[one] for one in every]})
    read = list(csv.reader(io.StringIO(tables.csv_text(rows), newline="")))
    assert read[0] == ["a,b", "n", "list"]
    assert [row[0] for row in read[1:]] == every
    assert read[1][2] == '["plain"]'


def test_json_sends_a_terminal_no_orders() -> None:
    every = [*names(), {"\x9b2J": ["\U000e0001"]}, 2.5, None]
    text = quoting.json_text(every)
    assert all(line.isprintable() for line in text.split("\n"))
    assert json.loads(text) == every
    assert "é" in text
