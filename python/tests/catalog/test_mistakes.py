"""Each mistake in a catalog is one line that names file, row and key."""

from __future__ import annotations

from pathlib import Path

import pytest
from fathom.catalog.__main__ import main
from fathom.catalog.load import load
from fathom.catalog.model import CatalogError

API = """
[api]
layer = "posix"
library = ["libc.so.6"]
"""
ROW = """
[[call]]
op = "pwrite"
symbols = ["pwrite"]
args = "int fd, const void *buf, size_t count, off_t offset"
returns = "ssize_t done"
kind = "write"
file = "fd"
size = "count"
offset = "offset"
bytes = "done"
"""


def write(tmp_path: Path, text: str, name: str = "my.toml") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_the_row_that_the_mistakes_are_made_in_is_good(tmp_path: Path) -> None:
    catalog = load([write(tmp_path, API + ROW)])
    ((_, call),) = catalog.calls()
    assert [field.name for field in call.fields] == ["size", "offset", "bytes"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("size = ", "sise = ", "pwrite sise: is no key"),
        ('layer = "posix"', 'layer = "possix"', "[api] layer: 'possix' is none of"),
        ('layer = "posix"', 'layer = "posix"\nlibary = []', "[api] libary: is no key"),
        ('kind = "write"', 'kind = "wright"', "pwrite kind: 'wright' is none of"),
        ('kind = "write"', "", "pwrite kind: is missing"),
        ('size = "count"', 'size = "cuont"', "pwrite size: 'cuont' is no argument"),
        ('size = "count"', "size = 8", "pwrite size: must be a text"),
        ('offset = "offset"', 'offset = "place"', "pwrite offset: 'place' is no argument"),
        ('bytes = "done"', 'bytes = "don"', "pwrite bytes: 'don' is no argument"),
        ('file = "fd"', 'file = "df"', "pwrite file: 'df' is no argument"),
        ('file = "fd"', 'file = "buf"', "pwrite by: is missing"),
        ('file = "fd"', 'file = "fd"\nby = "magic"', "pwrite by: 'magic' is none of"),
        ('file = "fd"', 'file = "fd"\nobject = "1"', "pwrite object: is there beside 'file'"),
        (
            'returns = "ssize_t done"',
            'returns = "ssize_t"',
            "pwrite returns: 'ssize_t' names no argument",
        ),
        (
            "size_t count, off_t offset",
            "size_t count, off_t",
            "pwrite args: 'off_t' names no argument",
        ),
        (
            "size_t count, off_t offset",
            "size_t fd, off_t offset",
            "pwrite args: argument 'fd' is there twice",
        ),
        (
            "size_t count, off_t offset",
            "size_t count, off_t offset, ...",
            "pwrite pass: is missing",
        ),
        ("const void *buf", "const void *real", "pwrite args: 'real' is a name that wrappers use"),
        (
            'bytes = "done"',
            'bytes = "done"\npass = "int fd"',
            "pwrite pass: is for variadic prototypes",
        ),
        (
            'bytes = "done"',
            'bytes = "done"\nrecord = ["flags"]',
            "pwrite record: 'flags' is no argument",
        ),
        (
            'bytes = "done"',
            'bytes = "done"\nrecord = [{ a = 1 }]',
            "pwrite record: takes argument names",
        ),
        (
            'bytes = "done"',
            'bytes = "done"\nrecord = ["fd", "count", { a = "1" }, { b = "1" }, { c = "1" }, { d = "1" }]',
            "pwrite record: makes 9 fields, at most 8 fit",
        ),
        (
            'bytes = "done"',
            'bytes = "done"\nrecord = [{ size = "1" }]',
            "pwrite record: field 'size' is there twice",
        ),
        ('bytes = "done"', 'bytes = "done"\nafter = "not-C"', "pwrite after: 'not-C' is neither"),
        (
            'bytes = "done"',
            'bytes = "done"\nafter = "told(c, fg)"',
            "pwrite after: 'fg' is no argument",
        ),
        (
            'bytes = "done"',
            'bytes = "done"\nbefore_changes = ["fd"]',
            "pwrite before_changes: needs a 'before'",
        ),
        ('bytes = "done"', 'bytes = "done"\nalways = true', "pwrite always: needs a 'before' or"),
        (
            'bytes = "done"',
            'bytes = "done"\nrow = false',
            "pwrite row: what is not recorded needs a hook",
        ),
        (
            'bytes = "done"',
            'bytes = "done"\nerror = "perhaps"',
            "pwrite error: 'perhaps' is none of",
        ),
        ('symbols = ["pwrite"]', 'symbols = ["p write"]', "pwrite symbols: 'p write' is no C name"),
        (
            'symbols = ["pwrite"]',
            'symbols = ["pwrite", "pwrite"]',
            "pwrite symbols: 'pwrite' is also in pwrite",
        ),
        ('bytes = "done"', "bytes = done", "file: is not TOML"),
        ("[[call]]", "[[cal]]", "cal: is neither [api] nor [[call]]"),
        ("[api]", "[apo]", "apo: is neither [api] nor [[call]]"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = API + ROW
    assert old in text
    path = write(tmp_path, text.replace(old, new, 1))
    with pytest.raises(CatalogError) as caught:
        load([path])
    line = str(caught.value)
    assert line.startswith(f"{path}: ")
    assert says in line
    assert "\n" not in line


FAMILY = """
[api.each.memory]
float = { T = "float" }
"""
FORM = """
[[call.form]]
each = "memory"
symbols = ["pwrite_{each}"]
args = "int fd, const {T} *buf, size_t count, off_t offset"
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('each = "memory"', 'each = "memry"', "pwrite form 2 each: 'memry' is no family"),
        ("{T} *buf", "{U} *buf", "pwrite form 2 args: '{U}' is no word of this family"),
        ("pwrite_{each}", "pwrite_{which}", "form 2 symbols: '{which}' is no word of this family"),
        ('{ T = "float" }', "4", "[api] each.memory.float: must be a table"),
        (
            '{ T = "float" }',
            '{ T = "float" }\ndouble = { U = "double" }',
            "[api] each.memory.double: has other words than the first variant",
        ),
        (
            'bytes = "done"',
            'bytes = "done"\nfortran = ["p_{x}_"]',
            "pwrite fortran: 'x' is no family",
        ),
        ('bytes = "done"', 'bytes = "done"\nvalues = { fd = "1" }', "values.fd: is no free name"),
    ],
)
def test_a_mistake_in_a_family_is_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    text = API + FAMILY + ROW + FORM
    load([write(tmp_path, text)])
    assert old in text
    with pytest.raises(CatalogError) as caught:
        load([write(tmp_path, text.replace(old, new, 1))])
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_op_may_be_there_once(tmp_path: Path) -> None:
    path = write(tmp_path, API + ROW + ROW)
    with pytest.raises(CatalogError, match="pwrite op: is there twice"):
        load([path])


def test_tracked_needs_a_descriptor(tmp_path: Path) -> None:
    row = ROW.replace('offset = "offset"', 'offset = "tracked"').replace("int fd", "const char *fd")
    with pytest.raises(CatalogError, match="pwrite offset: 'tracked' needs"):
        load([write(tmp_path, API + row)])


def test_a_form_must_give_what_it_lacks(tmp_path: Path) -> None:
    form = '[[call.form]]\nsymbols = ["p2"]\nargs = "int fd, const void *buf, size_t count"\n'
    with pytest.raises(
        CatalogError, match="pwrite form 2 given: the row's argument 'offset' is neither"
    ):
        load([write(tmp_path, API + ROW + form)])


def test_two_files_of_one_layer_share_no_op(tmp_path: Path) -> None:
    one = write(tmp_path, API + ROW, "one.toml")
    two = write(tmp_path, API + ROW.replace("pwrite", "pwrite_too"), "two.toml")
    assert [api.path for api in load([two, one]).apis] == [one, two]
    two.write_text(two.read_text().replace('op = "pwrite_too"', 'op = "pwrite"'), encoding="utf-8")
    with pytest.raises(CatalogError, match=r"two.toml: pwrite op: is also in .*one.toml"):
        load([one, two])


def test_a_variadic_says_how_it_is_passed_on(tmp_path: Path) -> None:
    row = ROW.replace("off_t offset", "off_t offset, ...")
    for extra in ("", 'pass = "int fd"\nva = "vpwrite"\n'):
        with pytest.raises(CatalogError, match="pwrite pass: is missing: args end in"):
            load([write(tmp_path, API + row + extra)])
    with pytest.raises(CatalogError, match="pwrite va: is for variadic prototypes"):
        load([write(tmp_path, API + ROW + 'va = "vpwrite"\n')])


def test_moves_is_for_streams(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="pwrite moves: is for streams"):
        load([write(tmp_path, API + ROW + 'moves = "1"\n')])


def test_files_that_look_inside_share_a_layer_and_symbols_but_no_op(tmp_path: Path) -> None:
    one = write(tmp_path, API + ROW, "one.toml")
    inside = API + 'inside = ["libthing.so"]\n'
    two = write(tmp_path, inside + ROW.replace('op = "pwrite"', 'op = "inner"'), "two.toml")
    assert [api.path for api in load([two, one]).apis] == [one, two]
    two.write_text(inside + ROW, encoding="utf-8")
    with pytest.raises(CatalogError, match=r"two.toml: pwrite op: is also in .*one.toml"):
        load([one, two])


def test_inside_and_own_exclude_each_other(tmp_path: Path) -> None:
    path = write(tmp_path, API + 'inside = ["libthing.so"]\nown = []\n' + ROW)
    with pytest.raises(CatalogError, match=r"\[api\] inside: is there beside 'own'"):
        load([path])


def test_below_names_a_layer(tmp_path: Path) -> None:
    path = write(tmp_path, API + 'below = "mpii"\n' + ROW)
    with pytest.raises(CatalogError, match=r"\[api\] below: 'mpii' is none of posix, mpiio"):
        load([path])


LONG = """
[api]
layer = "mpi"
library = ["libmpi.so.40"]
error = "nonzero"

[api.rows]
symbols = ["{op}", "P{op}"]
returns = "int result"
kind = "comm"
fortran = ["{lower}_", "x_{tail}"]

[api.large]
suffix = "_c"
since = "4.0"

[api.variant.posted]
op = "MPI_I{tail}"
args = "{args}, int *request"
bytes = ""

[[call]]
op = "MPI_Send"
args = "const void *buf, int count, const int *counts"
bytes = "count"
large = { count = "MPI_Count", counts = "MPI_Count" }
variants = ["posted"]
"""


def test_what_a_file_says_once_holds_for_every_row(tmp_path: Path) -> None:
    send, posted = load([write(tmp_path, LONG)]).apis[0].calls
    assert send.fortran == ("mpi_send_", "x_send")
    assert [form.symbols for form in send.forms] == [
        ("MPI_Send", "PMPI_Send"),
        ("MPI_Send_c", "PMPI_Send_c"),
    ]
    assert [p.text for p in send.forms[1].parameters] == [
        "const void *buf",
        "MPI_Count count",
        "const MPI_Count *counts",
    ]
    assert (send.forms[0].since, send.forms[1].since) == ("", "4.0")
    assert posted.op == "MPI_Isend"
    assert posted.parameters[-1].text == "int *request"
    assert [field.name for field in posted.fields] == ["result"]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('["posted"]', '["asked"]', "MPI_Send variants: 'asked' is no"),
        ('counts = "MPI_Count"', 'size = "MPI_Count"', "MPI_Send large: 'size' is no argument"),
        ('since = "4.0"', "", "[api] large: must say suffix and since"),
        ('bytes = "count"', 'otherwise = "posix"', "MPI_Send otherwise: needs 'when'"),
    ],
)
def test_a_mistake_in_a_compact_row_is_one_line(
    tmp_path: Path, old: str, new: str, says: str
) -> None:
    assert old in LONG
    with pytest.raises(CatalogError) as caught:
        load([write(tmp_path, LONG.replace(old, new, 1))])
    assert says in str(caught.value)


def test_what_a_row_hands_on_has_a_row_in_the_other_layer(tmp_path: Path) -> None:
    row = ROW.replace('kind = "write"', 'kind = "write"\nwhen = "count"\notherwise = "aio"')
    one = write(tmp_path, API + row, "one.toml")
    load([one])  # without the other layer's file the call passes through
    other = API.replace("posix", "aio") + ROW.replace('["pwrite"]', "[]")
    two = write(tmp_path, other.replace("off_t offset", "long offset"), "two.toml")
    with pytest.raises(CatalogError, match="pwrite otherwise: layer aio has no row of this name"):
        load([one, two])
    two.write_text(other, encoding="utf-8")
    assert load([one, two])


def test_a_symbol_is_in_one_file(tmp_path: Path) -> None:
    one = write(tmp_path, API + ROW, "one.toml")
    two = write(tmp_path, API.replace("posix", "aio") + ROW, "two.toml")
    with pytest.raises(CatalogError, match="'pwrite' is also in pwrite of"):
        load([one, two])


def test_a_hook_has_one_signature(tmp_path: Path) -> None:
    first = ROW.replace('bytes = "done"', 'after = "told"')
    second = first.replace("pwrite", "pwrote").replace(", off_t offset", ", int offset")
    with pytest.raises(
        CatalogError, match="pwrote after: hook 'told' has other arguments in pwrite"
    ):
        load([write(tmp_path, API + first + second)])


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="No such file"):
        load([tmp_path / "none.toml"])


def test_the_command_says_it_in_one_line_and_fails(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, API + ROW.replace("size =", "sise ="))
    assert main(["check", str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert f"{path}: pwrite sise: is no key" in printed.err


def test_an_asynchronous_form_needs_to_know_how(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match=r"pwrite async: needs \[api.async\]"):
        load([write(tmp_path, API + ROW + 'async = "pwrite_async"\n')])
