"""Specifications that cannot be right: each is refused with its line, what is wrong and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from fathom.codegen.generate import command
from fathom.codegen.generate.language.mistake import Mistake
from fathom.errors import FathomError
from harness import generated
from hypothesis import given, settings
from hypothesis import strategies as st

BASE = """#begin_options
name: t;
processes: 4;
#end_options
#begin_parameters
n: 16;
#end_parameters
#begin_dimensions
y: n;
x: 8;
#end_dimensions
#begin_variables
a: double, 2, y, x;
b: int, 1, y;
#end_variables
#begin_attributes
units: a, text, "K";
#end_attributes
#begin_write
array: *, a, rank * (y / nprocs), y / nprocs, 0, x, fa;
array: *, b, rank * (y / nprocs), y / nprocs, fb;
#end_write
"""
PART = "rank * (y / nprocs), y / nprocs"
A, B = f"array: *, a, {PART}, 0, x, fa;", f"array: *, b, {PART}, fb;"
#: what of BASE is replaced by what; the line (0: the first); what is said
WRONG = {
    # blocks
    "block-open": ("#end_write\n", "", 19, "the block write is not closed"),
    "block-unknown": ("#begin_layout", "", 0, ""),
    "kind-unknown": (
        "#begin_parameters",
        "#begin_parametres",
        5,
        "no block is called 'parametres'",
    ),
    "end-without-begin": ("#begin_parameters\n", "", 6, "end_parameters closes no block"),
    "end-of-another": ("#end_parameters", "#end_options", 7, "inside the block parameters"),
    "block-empty": (f"{A}\n{B}\n", "", 19, "moves nothing"),
    "point-twice": (
        "#end_write\n",
        f"#end_write\n#begin_write\n{A}\n#end_write\n",
        23,
        "a second I/O point",
    ),
    # statements
    "no-semicolon": ("n: 16;", "n: 16", 7, "in the middle of a statement"),
    "no-colon": ("x: 8;", "x 8;", 10, "'8' does not belong here"),
    "odd-letter": ("x: 8;", "x: 8$;", 10, "a letter that has no meaning here: '$'"),
    "no-number": ("x: 8;", "x: ;", 10, "';' does not belong here"),
    "text-open": ('"K"', '"K', 17, "a letter that has no meaning here"),
    "form-unknown": ("array: *, b", "box: *, b", 21, "'box' does not belong here"),
    "parenthesis-open": ("n: 16;", "n: (16;", 6, "';' does not belong here"),
    "too-nested": ("n: 16;", f"n: {'(' * 101}16{')' * 101};", 6, "more than 100 parentheses"),
    "too-many-signs": ("n: 16;", f"n: {'-' * 500}16;", 6, "more than 100 parentheses or signs"),
    # names
    "dimension-twice": ("x: 8;", "x: 8; x: 9;", 10, "'x' is said twice"),
    "parameter-twice": ("n: 16;", "n: 16; n: 2;", 6, "'n' is said twice"),
    "variable-twice": ("b: int, 1, y;", "a: int, 1, y;", 14, "'a' is said twice"),
    "attribute-twice": ('"K";', '"K"; units: a, text, "C";', 17, "'units' is said twice"),
    "option-twice": ("name: t;", "name: t; name: u;", 2, "'name' is said twice"),
    "dimension-is-parameter": ("x: 8;", "n: 8;", 10, "'n' is said twice"),
    "keyword": ("n: 16;", "while: 16;", 6, "cannot be called 'while'"),
    "own-name": ("x: 8;", "rank: 8;", 10, "cannot be called 'rank'"),
    "mpi-name": ("n: 16;", "MPI_x: 16;", 6, "cannot be called 'MPI_x'"),
    "name-too-long": ("n: 16;", f"{'n' * 60}: 16;", 6, "a name of 60 letters"),
    "dimension-unknown": ("b: int, 1, y;", "b: int, 1, z;", 14, "no dimension is called 'z'"),
    "variable-unknown": (B, B.replace("b", "c", 1), 21, "no variable is called 'c'"),
    "attribute-by-rank": ('text, "K"', "int, rank * n", 17, "units depends on the rank"),
    "attribute-too-large": ('text, "K"', "short, n * 4000", 17, "is 64000 with 4 processes"),
    "attribute-no-text": ('text, "K"', "text, n", 17, "n is no text"),
    "attribute-real-in-int": ('text, "K"', "int, t", 17, "t is no whole number"),
    "attribute-real-in-a-sum": ('text, "K"', "double, t + 1", 17, "t is no whole number"),
    "real-in-a-dimension": ("x: 8;", "x: t;", 10, "nothing is called 't'"),
    "cdf1-int64": ("double, 2", "int64, 2", 13, "which cdf1 has not"),
    "cdf1-size": ("x: 8;", "x: 20000000;", 13, "more than cdf1 can hold"),
    "cdf1-place": ("x: 8;", "x: 16777100;", 14, "begins behind 2 GiB"),
    "attribute-unknown-variable": ("units: a,", "units: c,", 17, "no variable is called 'c'"),
    "expression-unknown": ("x: 8;", "x: m;", 10, "nothing is called 'm'"),
    "function-unknown": ("x: 8;", "x: abs(8);", 10, "no function 'abs'"),
    "function-arguments": ("x: 8;", "x: min(8);", 10, "min takes 2 arguments, 1 are given"),
    "path-twice": ("b: int", 'b as "a": int', 14, "a second one"),
    "path-empty": ("b: int", 'b as "/": int', 14, "names no variable"),
    # types and values
    "type-unknown": ("b: int,", "b: complex,", 14, "no type is called 'complex'"),
    "rank-wrong": ("a: double, 2,", "a: double, 3,", 13, "said to have 3 dimensions, 2 are named"),
    "rank-zero": ("b: int, 1, y;", "b: int, 0, y;", 14, "0 dimensions, 1 are named"),
    "value-no-number": ('text, "K"', 'int, "K"', 17, "is not a number of type int32"),
    "value-no-text": ('text, "K"', "text, 5", 17, "is not a text"),
    "value-not-whole": ('text, "K"', "int, 1.5", 17, "is no number of type int32"),
    "value-too-large": ('text, "K"', "short, 40000", 17, "is no number of type int16"),
    "two-texts": ('"K"', '"K", "C"', 17, "a text has one value"),
    "number-too-large": ("n: 16;", "n: 99999999999999999999;", 6, "larger than 64 bits"),
    "buffer-two-types": (B, B.replace("fb", "fa"), 21, "fa holds float64 for a, and int32 for b"),
    "buffer-is-parameter": (B, B.replace("fb", "n"), 21, "n is a parameter"),
    "buffer-is-number": (B, B.replace("fb", "5"), 21, "5 is no buffer"),
    # options
    "option-unknown": ("name: t;", "nam: t;", 2, "no option of options is called 'nam'"),
    "library-unknown": ("name: t;", "library: adios;", 2, "'adios' is not one of pnetcdf"),
    "language-unknown": ("name: t;", "language: rust;", 2, "'rust' is not one of c,"),
    "processes-zero": ("processes: 4;", "processes: 0;", 3, "'0' is not a whole number from 1"),
    "option-two-values": ("name: t;", "name: t, u;", 2, "name has one value"),
    "layout-unknown": (
        "#end_options",
        "#end_options\n#begin_layout\nstripes: 4;\n#end_layout",
        6,
        "'stripes'",
    ),
    "layout-value": (
        "#end_options",
        "#end_options\n#begin_layout\nstriping_factor: many;\n#end_layout",
        6,
        "many",
    ),
    # accesses
    "counts-missing": (A, A.replace(", 0, x", ""), 20, "4 numbers are wanted, 2 given"),
    "counts-too-many": (B, B.replace(", fb", ", 0, 1, fb"), 21, "2 numbers are wanted, 4 given"),
    "shape-of-a-number": (B, B.replace("nprocs, fb", "nprocs[4], fb"), 21, "only the buffer"),
    "memory-rank": (B, B.replace("fb", "fb in <> from <>"), 21, "'>' does not belong here"),
    "memory-too-few": (
        A,
        A.replace("fa", "fa in <4> from <0>"),
        20,
        "2 dimensions, its memory 1 extents",
    ),
    "memory-too-small": (
        A,
        A.replace("fa", "fa in <4, 9> from <0, 2>"),
        20,
        "has 9 elements along 9, 2 to 10",
    ),
    "buffer-too-small": (B, B.replace("fb", "fb[3]"), 21, "fb has 3 elements, 4 are moved"),
    "process-unknown": (B, "array: 4, b, 0, n, fb;", 21, "process 4 of 4"),
    "tuple-too-short": (
        A,
        "global: a, <4>, <0, 0>, <y, x>, <0, 0>, fa;",
        20,
        "2 numbers are wanted, 1 given",
    ),
    "grid-product": (
        A,
        "global: a, <3, 1>, <0, 0>, <4, x>, <4, 0>, fa;",
        20,
        "has 3 processes, the program 4",
    ),
    # over all ranks
    "division": ("n: 16;", "n: 18;", 20, "18 does not divide by 4"),
    "division-by-zero": ("x: 8;", "x: 8 / (n - 16);", 10, "division by zero"),
    "overflow": ("n: 16;", "n: 9000000000000000000 * 9;", 6, "larger than 64 bits hold"),
    "circle": ("y: n;\nx: 8;", "y: x;\nx: y;", 10, "worked out from itself"),
    "length-by-rank": ("x: 8;", "x: 8 + rank;", 10, "depends on the rank"),
    "length-zero": ("x: 8;", "x: n - 16;", 10, "has the length 0"),
    "out-of-bounds": (A, A.replace(" 0, x", " 1, x"), 20, "reaches 9 along x, which has 8"),
    "negative-start": (A, A.replace(" 0, x", " -1, x"), 20, "less than none"),
    "negative-count": (B, B.replace(", y / nprocs, fb", ", rank - 1, fb"), 21, "less than none"),
    "overlap": (B, "array: *, b, rank * 3, 4, fb;", 21, "ranks 0 and 1 both write b[3..3]"),
    "overlap-twice": (B, B + "\n" + B, 22, "writes twice b[0..3]"),
    "gap": (B, "array: *, b, rank * 4, 3, fb;", 14, "no rank writes b[3..3]: a gap"),
    "gap-of-a-variable": (B, "", 14, "no rank writes b[0..15]"),
    "unlimited-not-first": ("x: 8;", "x: unlimited;", 13, "is not the first of a"),
    "unlimited-in-a-plain-file": ("name: t;", "library: posix;", 9, "has no records"),
    "too-long-for-mpi": ("n: 16;", "n: 17179869184;", 20, "which MPI's types cannot count"),
    "nothing-at-all": (BASE, "", 1, "no block of hints"),
    "no-variables": (
        BASE,
        "#begin_dimensions\nx: 3;\n#end_dimensions\n",
        1,
        "no variable is described",
    ),
    "no-points": (BASE[BASE.index("#begin_write") :], "", 1, "no I/O point"),
}
del WRONG["block-unknown"]


def text_of(name: str) -> str:
    """The base; with a real parameter, or in an older format, where the case is about these."""
    old, new, _, _ = WRONG[name]
    text = BASE.replace("y: n;", "y: unlimited;") if name == "unlimited-in-a-plain-file" else BASE
    if "real" in name:
        text = text.replace("n: 16;", "n: 16; t: 0.5;")
    if name.startswith("cdf1"):
        text = text.replace("name: t;", "format: cdf1;")
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize("name", WRONG)
def test_is_refused(name: str, tmp_path: Path) -> None:
    _, _, line, says = WRONG[name]
    generated.check_refused(tmp_path / "t.iog", text_of(name), line, says)


def test_the_unchanged_one_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "t.iog"
    path.write_text(BASE)
    command.checked(path, {})


def test_an_overlap_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "t.iog"
    path.write_text(text_of("overlap"))
    done = generated.fathom(path, "-o", tmp_path / "out")
    assert done.returncode == 2
    assert "  |000#11#22#333...|" in done.stderr
    assert not (tmp_path / "out").exists()


CONDITION = """#include <mpi.h>
void f(double *fa)
{{
    int me;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    {head}
{block}    {tail}
}}
"""
BLOCKS = BASE.replace(B + "\n", "").replace("b: int, 1, y;\n", "")


@pytest.mark.parametrize(
    ("head", "tail", "wrong"),
    [
        ("if (me == 0) {", "}", True),
        ("if (me == 0)", "", True),
        ("if (fa) { while (me < 2) {", "} }", True),
        ("if (fa) {", "}", False),
        ("if (me == 0) { fa = 0; }", "", False),
        ("/* if (me == 0) { */", "", False),
        ('if (fa["if (me) {"[0]] > 0) {', "}", False),
    ],
)
def test_a_point_under_a_condition_on_the_rank(
    head: str, tail: str, wrong: bool, tmp_path: Path
) -> None:
    path = tmp_path / "t.c"
    path.write_text(CONDITION.format(head=head, tail=tail, block=BLOCKS))
    if not wrong:
        command.checked(path, {})
        return
    with pytest.raises(Mistake, match="only some ranks reach this write: line 6 has a condition"):
        command.checked(path, {})


PIECES = st.sampled_from(
    "n x y a b fa double rank nprocs 0 1 16 99 * / % + - ( ) < > [ ] , ; : in from array global list unlimited as"
    ' " // ! \n #begin_write #end_write #begin_dimensions #end_dimensions #begin_types #end_types before( div( \t'
    " é \x00 /*@iog @*/ !$iog".split(" ")
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=40), st.integers(0, len(BASE)), st.integers(0, 60))
def test_any_text_is_read_or_refused(pieces: list[str], at: int, cut: int) -> None:
    """A Mistake has a place in the text; nothing else is ever raised."""
    text = BASE[:at] + " ".join(pieces) + BASE[at + cut :]
    _read(text)


@pytest.mark.full
@settings(max_examples=20000, deadline=None)
@given(st.lists(PIECES, max_size=40), st.integers(0, len(BASE)), st.integers(0, 60))
def test_very_many_texts_are_read_or_refused(pieces: list[str], at: int, cut: int) -> None:
    _read(BASE[:at] + " ".join(pieces) + BASE[at + cut :])


def _read(text: str) -> None:
    from fathom.codegen.generate import build
    from fathom.codegen.generate.analysis.check import check

    try:
        check(build.read("t.iog", text))
    except Mistake as mistake:
        assert 1 <= mistake.place.line <= text.count("\n") + 1
        assert 1 <= mistake.place.column <= len(mistake.place.text) + 1
    except FathomError:
        raise AssertionError("a mistake without a place") from None


def test_a_program_stays_in_its_language(tmp_path: Path) -> None:
    """Statements of Fortran were once put into a program in C."""
    program = tmp_path / "heat.c"
    program.write_text(f"int main(void)\n{{\n{BASE}}}\n")
    with pytest.raises(FathomError, match="a program in c; code in fortran does not fit into it"):
        command.generate(program, {"language": "fortran"}, False)
