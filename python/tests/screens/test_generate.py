"""The form's answers: places in the text are the text's, what is made is the command's, nothing is written unasked."""

import base64
import io
import zipfile
from pathlib import Path
from typing import Any

import pytest
from fathom.codegen.generate import build, command
from fathom.codegen.generate.language.mistake import Mistake
from fathom.codegen.generate.language.outline import Part, outline
from fathom.codegen.generate.language.source import scan
from fathom.errors import UsageError
from fathom.webapi import answers as screens
from fathom.webapi.answers.generate import Program
from fathom.webapi.answers.session import Runs
from hypothesis import given, settings
from hypothesis import strategies as st

SPECS = sorted((Path(__file__).parents[3] / "examples" / "generate").glob("*.iog"))
SOURCE = """#include <mpi.h>
/*@iog begin_dimensions
y: 64; x: 8; // \U0001f30a
end_dimensions @*/
/*@iog begin_variables
temp: double, 2, y, x;
end_variables @*/
int main(void)
{
	/*@iog begin_write
	global: temp, <nprocs, 1>, <0, 0>, <y / nprocs, x>, <y / nprocs, x>, temp;
	end_write @*/
}
"""


def ask(runs: Runs, name: str, /, **parameters: str) -> dict[str, Any]:
    reply: dict[str, Any] = screens.ask(runs, name, parameters)
    return reply


@pytest.fixture
def runs() -> Runs:
    return Runs([])


def wide(text: str, start: int, end: int) -> str:
    """As a browser cuts it: in units of UTF-16."""
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def parts(text: str) -> list[Part]:
    in_order = []
    for block in outline(scan("a.c", text)):
        for statement in block.statements:
            in_order += [statement.head, *statement.parts]
            in_order += [
                item for part in statement.parts for group in part.tuples for item in group
            ]
    return in_order


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_the_parts_of_examples_stand_where_they_are_said_to(path: Path) -> None:
    text = path.read_text()
    in_order = parts(text)
    assert len(in_order) > 20
    assert [one.text for one in in_order] == [text[one.start : one.end] for one in in_order]


def test_letters_of_two_units_are_counted_as_browsers_do() -> None:
    in_order = parts(SOURCE)
    assert [one.text for one in in_order] == [wide(SOURCE, one.start, one.end) for one in in_order]
    assert "y / nprocs" in [one.text for one in in_order]


def test_a_part_that_is_replaced_is_what_the_parser_reads() -> None:
    (length,) = [part for part in parts(SOURCE) if part.text == "64"]
    text = SOURCE[: length.start] + "16 * 8" + SOURCE[length.end :]
    assert build.read("a.c", text).values(4).named["y"].place.line == 3
    assert command.checked(Path("a.c"), {}, text)[0].dimensions["y"].length is not None
    assert command.generate(Path("a.c"), {}, False, text).texts["a.c"].count("16 * 8") == 1


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='ab:;,<>()[]"/!* \n\U0001f30a1', max_size=60))
def test_any_text_has_an_outline(inside: str) -> None:
    text = f"#begin_write\n{inside}\n#end_write\n"
    for part in parts(text):
        assert wide(text, part.start, part.end) == part.text


def test_what_is_made_is_what_the_command_makes(runs: Runs) -> None:
    reply = ask(runs, "hints", name="heat.c", text=SOURCE)
    assert reply["mistake"] is None
    generated = command.generate(Path("heat.c"), {}, False, SOURCE)
    assert {one["name"]: one["text"] for one in reply["files"]} == generated.texts
    assert reply["plans"][0]["raw"] == [[4, 4]]
    assert reply["build"].startswith("mpicc -std=c11 -O2 -o heat heat.c checkpoint_io.c")
    (owned,) = reply["owners"]
    assert owned["boxes"] == [[rank, 16 * rank, 0, 16, 8] for rank in range(4)]
    packed = ask(runs, "archive", name="heat.c", text=SOURCE)
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(packed["base64"]))) as folder:
        assert {one: folder.read(one).decode() for one in folder.namelist()} == generated.texts


def test_a_mistake_has_its_place_and_the_picture_is_there_all_the_same(runs: Runs) -> None:
    text = SOURCE.replace("<0, 0>", "<1, 0>")
    reply = ask(runs, "hints", name="heat.c", text=text)
    assert "out of bounds" in reply["mistake"]["what"]
    at = len(wide(text, 0, reply["mistake"]["at"]))
    assert text[at:].startswith("y / nprocs, x>, <") and reply["mistake"]["line"] == 11
    assert reply["files"] == [] and reply["owners"][0]["boxes"][3] == [3, 49, 0, 16, 8]
    assert reply["blocks"][2]["kind"] == "write"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("int a;\n", "no block of hints"),
        ("#begin_write\n", "is not closed"),
        (SOURCE.replace("64;", "64"), "does not belong here"),
        (f"#begin_options\nprocesses: 4, 99999;\n#end_options\n{SOURCE}", "more than the form checks"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_an_answer(runs: Runs, text: str, message: str) -> None:
    assert message in ask(runs, "hints", name="heat.c", text=text)["mistake"]["what"]


def test_declarations_go_where_they_may_stand(runs: Runs) -> None:
    begin = ask(runs, "form")["beginnings"]
    for name, text, behind in (
        ("a.c", begin["c"], "#include <stdlib.h>\n"),
        ("a.f90", begin["fortran"], "  use mpi_f08\n"),
        ("a.iog", "x\n", "x\n"),
    ):
        at = ask(runs, "hints", name=name, text=text)["declare"]
        assert text[:at].endswith(behind)


def test_names_have_no_directory(runs: Runs) -> None:
    with pytest.raises(UsageError, match="without a directory"):
        ask(runs, "hints", name="../a.c", text=SOURCE)


@pytest.fixture
def source(runs: Runs, tmp_path: Path) -> Path:
    """One that was given on the command line, with the right to write."""
    path = tmp_path / "heat.c"
    path.write_text(SOURCE)
    runs.program = Program(path, True)
    return path


def test_files_are_written_beside_the_source(runs: Runs, source: Path) -> None:
    reply = ask(runs, "save", name="heat.c", text=SOURCE, was=SOURCE)
    assert sorted(reply["written"]) == ["checkpoint_io.c", "checkpoint_io.h", "checkpoint_io.md", "heat.c"]  # fmt: skip
    assert source.read_text() == reply["text"] and "checkpoint_write(" in reply["text"]
    again = ask(runs, "save", name="heat.c", text=reply["text"], was=reply["text"])
    assert again == {"written": [], "text": reply["text"]}


def test_line_ends_stay(runs: Runs, source: Path) -> None:
    was = SOURCE.replace("\n", "\r\n")
    source.write_bytes(was.encode())
    reply = ask(runs, "save", name="heat.c", text=SOURCE, was=was, ends="crlf")
    assert source.read_bytes() == reply["text"].encode()
    assert reply["text"].count("\n") == reply["text"].count("\r\n")


def test_what_was_edited_is_not_overwritten(runs: Runs, source: Path) -> None:
    with pytest.raises(UsageError, match="has changed since it was opened"):
        ask(runs, "save", name="heat.c", text=SOURCE, was="int a;\n")
    saved = ask(runs, "save", name="heat.c", text=SOURCE, was=SOURCE)["text"]
    generated = source.with_name("checkpoint_io.c")
    generated.write_text(generated.read_text() + "int mine;\n")
    with pytest.raises(UsageError, match="was edited after it was generated"):
        ask(runs, "save", name="heat.c", text=saved, was=saved)
    edited = saved.replace("MPI_Abort", "abort")
    assert "were edited" in ask(runs, "hints", name="heat.c", text=edited)["mistake"]["what"]


def test_nothing_is_written_without_the_right(runs: Runs, source: Path) -> None:
    runs.program = Program(source, False)
    assert ask(runs, "form")["may write"] is False
    with pytest.raises(UsageError, match="--allow-write"):
        ask(runs, "save", name="heat.c", text=SOURCE, was=SOURCE)
    runs.program = Program(source, True)
    with pytest.raises(UsageError, match="is not the source"):
        ask(runs, "save", name="other.c", text=SOURCE, was=SOURCE)
    assert [one.name for one in source.parent.iterdir()] == ["heat.c"]


def test_a_mistake_in_the_text_writes_nothing(runs: Runs, source: Path) -> None:
    with pytest.raises(Mistake):
        ask(runs, "save", name="heat.c", text=SOURCE.replace("64;", "0;"), was=SOURCE)
    assert [one.name for one in source.parent.iterdir()] == ["heat.c"]
