"""Generated C compiles without a warning, keeps to the columns, and has the shape that call.h asks for."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fathom.catalog.__main__ import generate
from fathom.catalog.describe import page
from fathom.catalog.edges import edges
from fathom.catalog.load import load
from fathom.catalog.wrappers import longest
from probes import ROOT, catalog

SMALL = """
[api]
layer = "posix"
library = ["libc.so.6"]
own = ["libc.so.*"]
system = ["unistd.h", "fcntl.h", "sys/types.h"]
copies = 2

[[call]]
op = "pwrite"
symbols = ["pwrite", "pwrite64"]
args = "int fd, const void *buf, size_t count, off_t offset"
returns = "ssize_t done"
kind = "write"
file = "fd"
size = "count"
offset = "offset"
bytes = "done"
syscalls = ["pwrite64"]

[[call]]
op = "open"
symbols = ["open"]
args = "const char *path, int flags, ..."
pass = "const char *path, int flags, mode_t mode"
returns = "int fd"
kind = "open"
file = "path"
record = ["flags", { twice = "2 * flags" }]
before = "hook_before"
before_changes = ["path"]
after = "hook_after"
always = true
fortran = ["open_file_"]

[[call]]
op = "sync"
symbols = ["sync"]
args = "void"
returns = "void"
kind = "sync"
when = "1"
"""

FAMILY = """
[api]
layer = "netcdf"
library = ["libnetcdf*.so.*"]
own = ["libnetcdf*"]
copies = 1
error = "nonzero"
bindings_inside = true

[api.each.memory]
float = { T = "float", type = "5" }
string = { T = "char *", type = "12" }

[[call]]
op = "nc_put_var"
symbols = ["nc_put_var"]
args = "int ncid, const void *data"
values = { type = "0" }
returns = "int result"
kind = "write"
record = [{ memory_type = "type" }]
fortran = ["nf_put_var_{memory}_"]

[[call.form]]
each = "memory"
symbols = ["nc_put_var_{each}"]
args = "int ncid, const {T} *data"
given = { type = "{type}" }
"""

FAMILY_BODY = """\
/* catalog/probes/family.toml: nc_put_var, of each type */
static __attribute__((noinline)) int family_nc_put_var_2(int ncid, const void *data, int64_t type,
		uint32_t edge, const void *site)
{
	int (*const real)(int, const void *) = edge_originals[edge];
	struct call c;

	if (!call_enter(&c, OP_NETCDF_NC_PUT_VAR, 0, 0, UNKNOWN_OFFSET, __builtin_frame_address(0),
			site))
		return real(ncid, data);
"""

FAMILY_WRAPPER = """\
int wrap_nc_put_var_string_0(int ncid, const char * *data)
{
	return family_nc_put_var_2(ncid, (const void *)data, 12, EDGE_nc_put_var_string_0,
			__builtin_return_address(0));
}
"""

PWRITE = """\
/* catalog/probes/small.toml: pwrite */
ssize_t wrap_pwrite_0(int fd, const void *buf, size_t count, off_t offset)
{
	ssize_t (*const real)(int, const void *, size_t, off_t) = edge_originals[EDGE_pwrite_0];
	struct call c;

	if (!call_enter(&c, OP_POSIX_PWRITE, descriptor_object(fd), (int64_t)count, (int64_t)offset,
			__builtin_frame_address(0), __builtin_return_address(0)))
		return real(fd, buf, count, offset);
	ssize_t done = real(fd, buf, count, offset);
	const uint64_t ended = ticks_now();

	if (done == -1)
		c.error = errno;
	c.field[0] = (int64_t)count;
	c.field[1] = (int64_t)offset;
	c.field[2] = (int64_t)done;
	call_leave(&c, ended);
	return done;
}
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    source = tmp_path / "small.toml"
    source.write_text(SMALL, encoding="utf-8")
    generate(load([source]), tmp_path)
    return tmp_path


INNER = """
[api]
layer = "posix"
library = ["libc.so.6"]
inside = ["libthing.so.*", "!libthing.so.0"]
below = "mpiio"
copies = 1

[[call]]
op = "inner_pwrite"
symbols = ["pwrite"]
args = "int fd, const void *buf, size_t count, off_t offset"
returns = "ssize_t done"
kind = "write"
"""


def test_an_api_that_looks_inside_has_its_own_wrapper_of_a_symbol(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    (tmp_path / "inner.toml").write_text(INNER, encoding="utf-8")
    generate(load([tmp_path / "small.toml", tmp_path / "inner.toml"]), tmp_path)
    table = (tmp_path / "tables.c").read_text(encoding="utf-8")
    rows = re.findall(r'\{ "(\w+)", (\w+), (\d), (\d), 0x1, NULL \}', table)
    assert [row for row in rows if row[0] == "pwrite"] == [
        ("pwrite", "EDGE_pwrite_0", "2", "0"),
        ("pwrite", "EDGE_inner_pwrite_0", "1", "1"),
    ]
    assert '{ "posix", 0, true, modules_inner, false },' in table
    assert '"libthing.so.*", "!libthing.so.0", NULL' in table
    text = (tmp_path / "wrappers_inner.c").read_text(encoding="utf-8")
    assert "if (!layer_on(0) || !(call_inside(1)))" in text
    for name in ("wrappers_small.c", "wrappers_inner.c", "tables.c"):
        compile_c(tmp_path, name)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("generated")
    generate(catalog(), out)
    return out


def compile_c(folder: Path, name: str) -> None:
    flags = "-std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror -fsyntax-only".split()
    gcc = subprocess.run(
        ["gcc", *flags, f"-I{ROOT / 'runtime'}", f"-I{folder}", str(folder / name)],
        capture_output=True,
        text=True,
    )
    assert gcc.returncode == 0, gcc.stderr


@pytest.fixture
def family(tmp_path: Path) -> Path:
    source = tmp_path / "family.toml"
    source.write_text(FAMILY, encoding="utf-8")
    generate(load([source]), tmp_path)
    return tmp_path


def test_a_family_shares_one_body(family: Path) -> None:
    text = (family / "wrappers_family.c").read_text(encoding="utf-8")
    assert text.count("static __attribute__((noinline))") == 1
    assert FAMILY_BODY in text
    assert FAMILY_WRAPPER in text
    assert "const int64_t type = 0;" in text  # the row's own form
    compile_c(family, "wrappers_family.c")


def test_a_family_has_its_prototypes_and_entries(family: Path) -> None:
    ((_, call),) = load([family / "family.toml"]).calls()
    assert list(call.symbols()) == ["nc_put_var", "nc_put_var_float", "nc_put_var_string"]
    assert [form.parameters[1].text for form in call.forms[1:]] == [
        "const float *data",
        "const char * *data",
    ]
    assert call.fortran == ("nf_put_var_float_", "nf_put_var_string_")


def test_a_library_may_hold_bindings(family: Path) -> None:
    text = (family / "tables.c").read_text(encoding="utf-8")
    assert '{ "netcdf", 5, false, modules_family, true },' in text
    compile_c(family, "tables.c")


def test_a_wrapper_reads_as_written_by_hand(small: Path) -> None:
    assert PWRITE in (small / "wrappers_small.c").read_text(encoding="utf-8")


def test_there_is_one_function_for_each_symbol_and_copy(small: Path) -> None:
    text = (small / "wrappers_small.c").read_text(encoding="utf-8")
    heads = re.findall(r"^\w[\w *]*?\b(wrap_\w+)\(", text, re.M)
    symbols = ["pwrite", "pwrite64", "open", "sync"]
    assert heads == [f"wrap_{symbol}_{copy}" for symbol in symbols for copy in range(2)]


def test_a_hook_gets_a_pointer_to_what_it_changes(small: Path) -> None:
    text = (small / "handlers.h").read_text(encoding="utf-8")
    assert "void hook_before(struct call *c, const char **path, int flags, mode_t mode);" in text
    assert (
        "void hook_after(struct call *c, int fd, const char *path, int flags, mode_t mode);" in text
    )


def test_errno_is_read_on_failure_only(small: Path) -> None:
    lines = (small / "wrappers_small.c").read_text(encoding="utf-8").splitlines()
    for before, line in itertools.pairwise(lines):
        if "errno" in line and "#include" not in line:
            assert before.strip().startswith("if (")


def test_symbols_are_sorted_as_strcmp_does(full: Path) -> None:
    table = (full / "tables.c").read_text(encoding="utf-8")
    rows = table.split("edge_symbols[] = {")[1].split("};")[0]
    names = [name.encode() for name in re.findall(r'\{ "(\w+)"', rows)]
    assert len(names) == len(edges(catalog()))
    assert names == sorted(names)
    outside = [edge.symbol for edge in edges(catalog()) if not edge.api.inside]
    assert len(outside) == len(set(outside))


def test_the_entry_of_a_fortran_binding_is_named_as_it_is_numbered(small: Path) -> None:
    entries = (small / "entries.S").read_text(encoding="utf-8")
    numbers = dict(
        re.findall(r"(EDGE_\w+) = (\d+)", (small / "wrappers.h").read_text(encoding="utf-8"))
    )
    for copy in range(2):
        number = numbers[f"EDGE_open_file__{copy}"]
        assert f'fathom_entry entry_open_file__{copy}, {number}, "open_file_"' in entries


def test_the_small_catalog_compiles(small: Path) -> None:
    for name in ("wrappers_small.c", "tables.c"):
        compile_c(small, name)


@pytest.mark.full
def test_the_whole_catalog_compiles_and_keeps_to_the_columns(full: Path) -> None:
    names = [path.name for path in full.glob("*.c")]
    assert "tables.c" in names
    for name in names:
        compile_c(full, name)
        assert longest((full / name).read_text(encoding="utf-8")) <= 100, name


def test_a_second_run_writes_nothing(full: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in full.iterdir()}
    generate(catalog(), full)
    assert before == {path: path.stat().st_mtime_ns for path in full.iterdir()}


def test_the_oracle_knows_every_op(full: Path) -> None:
    oracle = json.loads((full / "oracle.json").read_text(encoding="utf-8"))
    for api in catalog().apis:
        assert oracle[api.layer].keys() >= {call.op for call in api.recorded()}
    assert oracle["posix"]["pwrite"]["syscalls"] == ["pwrite64"]


def test_syscall_knows_each_number_that_a_row_becomes(full: Path) -> None:
    """What strace shows for any POSIX row is also recorded when a program asks for it by number."""
    oracle = json.loads((full / "oracle.json").read_text(encoding="utf-8"))["posix"]
    named = {name for row in oracle.values() for name in row["syscalls"]}
    handler = (ROOT / "runtime/handlers/posix_syscall.c").read_text(encoding="utf-8")
    handled = set(re.findall(r"^\t\[SYS_(\w+)\]", handler, re.M))
    assert set(oracle["syscall"]["syscalls"]) == handled
    assert named == handled


def test_the_reference_page_has_each_op() -> None:
    for api in catalog().apis:
        text = page(api)
        for call in api.recorded():
            assert f"| {call.op} | {call.kind} |" in text


def test_settings_are_put_in_before_the_call_of_asynchronous_forms_too(full: Path) -> None:
    text = (full / "wrappers_hdf5.c").read_text(encoding="utf-8")
    for op, hook in (("H5Fcreate", "tune_file"), ("H5Dwrite", "tune_transfer")):
        for name in (op, f"{op}_async"):
            body = text.partition(f" wrap_{name}_0(")[2].partition("\n}\n")[0]
            assert f"\t\t{hook}(&tuned, EDGE_{name}_0, " in body.partition("call_enter(")[0]
            passed, done = body.split("tune_end(")[1:]
            assert passed.startswith("&tuned, NULL)")  # where nothing is recorded
            assert done.startswith("&tuned, &c)")


def test_an_asynchronous_form_is_the_row_with_other_arguments(tmp_path: Path) -> None:
    source = tmp_path / "later.toml"
    source.write_text(
        """
[api]
layer = "hdf5"
library = ["libx.so"]
error = "negative"

[api.async]
before = "const char *where"
behind = "int events"
kind = "post"
since = "1.14"
result = "now(events, {result})"

[[call]]
op = "take"
symbols = ["take"]
args = "int what"
returns = "int result"
kind = "read"
size = "-1"
bytes = "result + 1"
after = "took(c, result, what)"
async = "take_later"
""",
        encoding="utf-8",
    )
    take, later = load([source]).apis[0].calls
    assert (take.op, take.kind, take.since) == ("take", "read", "")
    assert (later.op, later.kind, later.since) == ("take_later", "post", "1.14")
    assert list(later.symbols()) == ["take_later"]
    assert [parameter.text for parameter in later.parameters] == [
        "const char *where",
        "int what",
        "int events",
    ]
    assert later.after == "took(c, now(events, result), what)"
    assert [field.expression for field in later.fields] == ["-1", "now(events, result) + 1"]


def test_it_needs_the_standard_library_alone(tmp_path: Path) -> None:
    """`make demo` of a fresh machine generates while the packages are being installed: -S leaves them out."""
    probes = [str(path) for path in sorted((ROOT / "catalog" / "probes").glob("*.toml"))]
    command = [sys.executable, "-S", "-m", "fathom.catalog", "generate", str(tmp_path), *probes]
    environment = {"PYTHONPATH": str(ROOT / "python"), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "tables.c").is_file()
