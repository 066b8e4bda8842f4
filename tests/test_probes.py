"""`fathom run --probes`: a user's own catalog, checked, built on the spot, its functions recorded."""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
from pathlib import Path

import pytest
from fathom.catalog.load import load_api
from harness import needs, paths, tables

SOURCES = paths.TESTS / "programs" / "user"
EXAMPLES = paths.ROOT / "examples" / "probes"
#: Of each call of layer `store`: op, caller, class and name of its object, bytes, result, error.
WANTED = [
    ["store_open", "", "path", "f", 0, 0, 0],
    ["open", "store_open", "descriptor", "f", 0, 3, 0],
    ["store_define", "", "named", "density", 0, 0, 0],
    *[
        ["store_put", "", "named", "density", 10, 0, 0],
        ["write", "store_put", "descriptor", "f", 10, 0, 0],
    ]
    * 3,
    ["store_put", "", "path", "f", 0, 0, 22],  # EINVAL, and it never came to a write
    ["store_put_text", "", "named", "title", 0, 0, 0],
    ["write", "store_put_text", "descriptor", "f", 5, 0, 0],  # its store_put is the library's own
    ["store_sync", "", "path", "f", 0, 0, 0],
    ["fsync", "store_sync", "descriptor", "f", 0, 0, 0],
    ["store_id", "", "path", "f", 0, 22, 22],
    ["store_id", "", "path", "f", 0, 0, 0],
    ["store_rewind", "", "path", "f", 0, 0, 0],  # by the number that store_id gave out
    ["lseek", "store_rewind", "descriptor", "f", 0, 0, 0],
    ["store_close", "", "path", "f", 0, 0, 0],
    ["close", "store_close", "descriptor", "f", 0, 0, 0],
    ["store_open", "", "path", "x", 0, 0, 2],
    ["open", "store_open", "path", "x", 0, -1, 2],
]
CALLS = r"""
    select c.op, coalesce(p.op, ''), o.class, regexp_extract(o.name, '[^/]*$'),
        coalesce(c.bytes, 0), coalesce(c.result, 0), c.error
    from calls c left join calls p on p.id = c.parent left join objects o on o.object = c.object
    where c.layer in ('store', 'posix') order by c.start"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def use_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program of the library that the catalog describes."""
    place = tmp_path_factory.mktemp("store")
    flags = ["-O2", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE"]
    library = ["-shared", "-fPIC", "-Wl,-soname,libstore.so", SOURCES / "store.c"]
    subprocess.run(["gcc", *flags, *library, "-o", place / "libstore.so"], check=True)
    link = [f"-L{place}", "-lstore", f"-Wl,-rpath,{place}", "-o", place / "use_store"]
    subprocess.run(["gcc", *flags, SOURCES / "use_store.c", *link], check=True)
    return place / "use_store"


def fathom(
    cache: Path, *words: object, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    own = {
        "XDG_CACHE_HOME": str(cache),
        "FATHOM_PYTHON": paths.PYTHON,
        "PYTHONPATH": str(paths.ROOT / "python"),
    }
    return subprocess.run(
        [str(word) for word in (paths.FATHOM, *words)],
        env={**os.environ, **own, **(env or {})},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def recorded(
    cache: Path, run: Path, *words: object, env: dict[str, str] | None = None
) -> list[list[object]]:
    done = fathom(cache, "run", "--no-show", "-o", run, *words, env=env)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    connection = tables.connect(run)
    assert tables.ask(connection, "select kind, detail from marks") == []
    return tables.ask(connection, CALLS)


def test_every_call_of_a_users_library_is_seen(
    cache: Path, use_store: Path, tmp_path: Path
) -> None:
    store, f = SOURCES / "store.toml", tmp_path / "f"
    run = tmp_path / "run.fathom"
    assert recorded(cache, run, "--probes", store, "--", use_store, f) == WANTED
    connection = tables.connect(run)
    asked = "select distinct f.path from calls c join files f using (file) where layer = 'store'"
    assert sorted(tables.ask(connection, asked)) == [["/nowhere/x"], [str(f)]]
    asked = "select a.text from calls c join args a on a.call = c.id where op = 'store_put_text'"
    assert tables.ask(connection, asked) == [["hello"]]
    asked = (
        "select layer, count(*) from calls where layer in ('posix', 'store') group by 1 order by 1"
    )
    assert tables.ask(connection, asked) == [["posix", 9], ["store", 13]]


@pytest.mark.parametrize("way", ["environment", "layers", "not-pie", "twice"])
def test_other_ways_to_name_it(way: str, cache: Path, use_store: Path, tmp_path: Path) -> None:
    store, program, env = SOURCES / "store.toml", use_store, {}
    words: list[object] = ["--probes", store]
    if way == "environment":
        words, env = [], {"FATHOM_PROBES": str(store)}
    elif way == "layers":
        words = ["--layers", "posix", *words]
    elif way == "twice":  # a launcher inside: the inner one adds nothing
        program_words = [paths.FATHOM, "run", "--no-show", "-o", tmp_path / "inner.fathom"]
        words = [*words, "--", *program_words, "--", use_store, tmp_path / "f"]
        done = fathom(cache, "run", "--no-show", "-o", tmp_path / "run.fathom", *words)
        assert done.stdout == "done\n"
        assert tables.ask(tables.connect(tmp_path / "inner.fathom"), CALLS) == WANTED
        return
    else:
        program = tmp_path / "plain"
        source = ["gcc", "-fno-pie", "-no-pie", SOURCES / "use_store.c", "-o", program]
        link = [f"-L{use_store.parent}", "-lstore", f"-Wl,-rpath,{use_store.parent}"]
        subprocess.run([*source, *link], check=True)
    words += ["--", program, tmp_path / "f"]
    assert recorded(cache, tmp_path / "run.fathom", *words, env=env) == WANTED


def test_env_prints_what_a_batch_script_needs(cache: Path, use_store: Path, tmp_path: Path) -> None:
    run = tmp_path / "run.fathom"
    printed = fathom(cache, "env", "-o", run, "--probes", SOURCES / "store.toml").stdout
    script = f"{printed}\nexec {use_store} {tmp_path}/f"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "done\n"
    assert tables.ask(tables.connect(run), CALLS) == WANTED


def test_it_is_built_once_also_by_ranks_that_come_at_once(use_store: Path, tmp_path: Path) -> None:
    compiler = tmp_path / "counting-cc"
    compiler.write_text(f'#!/bin/sh\necho built >>{tmp_path}/builds\nsleep 1\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    words = [paths.FATHOM, "run", "-o", tmp_path / "job", "--probes", SOURCES / "store.toml"]
    ranks = [
        subprocess.Popen(
            [str(word) for word in (*words, "--", use_store, tmp_path / f"f{number}")],
            env={
                **os.environ,
                "XDG_CACHE_HOME": str(tmp_path / "cache"),
                "CC": str(compiler),
                "FATHOM_PYTHON": paths.PYTHON,
                "PYTHONPATH": str(paths.ROOT / "python"),
                "PMIX_RANK": str(number),
                "PMIX_NAMESPACE": "job-1",
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(8)
    ]
    assert [rank.communicate(timeout=200)[0] for rank in ranks] == ["done\n"] * 8
    assert (tmp_path / "builds").read_text() == "built\n"
    asked = "select count(*) from calls where layer = 'store'"
    assert tables.ask(tables.connect(tmp_path / "job.fathom"), asked) == [[8 * 13]]
    built = [path.suffix for path in (tmp_path / "cache" / "fathom" / "probes").iterdir()]
    assert sorted(built) == [".lock", ".so"]


#: What is changed in store.toml -> what must be said, after the file's name.
MISTAKES = {
    "no such key": ('kind    = "open"', 'knid = "open"', "store_open knid: is no key"),
    "no such kind": ('kind    = "sync"', 'kind = "flush"', "store_sync kind: 'flush' is none of"),
    "no such argument": ('handle  = "id"', 'handle = "ide"', "store_rewind handle: 'ide' is no"),
    "no such type": ("int id", "ident id", "store_rewind args: the C compiler says: unknown type"),
    "built in": ('op      = "store_sync"', 'op = "fsync"', "fsync symbols: 'fsync' is built in"),
    "twice": ('op      = "store_sync"', 'op = "store_id"', "store_id op: is there twice"),
    "another layer": ('layer   = "user"', 'layer = "posix"', "[api] name: is for layer 'user'"),
    "a name of ours": ('name    = "store"', 'name = "hdf5"', "[api] name: 'hdf5' is no C name, or"),
    "no name": ('name    = "store"', "", "[api] name: is missing"),
    "a function of the library": (
        'size    = "bytes"',
        'size = "store_id(store, NULL)"',
        "store_put: the C compiler says: implicit declaration of function 'store_id'",
    ),
    "no hook": ('"call_text(c', '"system(c', "store_put_text after: 'system(c"),
    "hot": ('kind    = "sync"', 'kind = "sync"\nhot = true', "store_sync hot: is for"),
    "two names": ("[api]", "[[api]", "file: is not TOML"),
    "nothing opened": (
        'kind    = "sync"',
        'kind = "sync"\nafter = "call_text(c, \\"a\\", store)"\nopens = "store"',
        "store_sync opens: is there beside 'after'",
    ),
}


@pytest.mark.some(7)
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line_with_file_row_and_key(
    mistake: str, cache: Path, use_store: Path, tmp_path: Path
) -> None:
    before, after, says = MISTAKES[mistake]
    text = (SOURCES / "store.toml").read_text()
    assert before in text
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(text.replace(before, after, 1))
    run = tmp_path / "run.fathom"
    done = fathom(cache, "run", "-o", run, "--probes", wrong, "--", use_store, tmp_path / "f")
    assert (done.returncode, done.stdout) == (125, "")
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"fathom: {wrong}: {says}"), done.stderr
    assert not run.exists()
    assert fathom(cache, "list", "probes", "check", wrong).returncode == 3


def test_a_wrong_prototype_is_found_by_the_header(cache: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    text = (SOURCES / "store.toml").read_text()
    wrong.write_text(text.replace("int writable", "long writable"))
    flags = f"--cflags=-I{SOURCES}"
    done = fathom(cache, "list", "probes", "check", wrong, flags)
    assert done.returncode == 3
    assert done.stderr.startswith(f"fathom: {wrong}: store_open args: the C compiler says: ")
    assert "incompatible pointer type" in done.stderr
    good = fathom(cache, "list", "probes", "check", SOURCES / "store.toml", flags)
    assert good.returncode == 0
    assert good.stdout == f"{SOURCES}/store.toml: 8 functions, as in store.h\n"


def test_without_a_compiler_one_line_says_so(use_store: Path, tmp_path: Path) -> None:
    words = ["run", "--probes", SOURCES / "store.toml", "--", use_store, tmp_path / "f"]
    done = fathom(tmp_path, *words, env={"PATH": "/nowhere"})
    assert done.returncode == 125
    assert done.stderr == (
        "fathom: no C compiler here (cc, gcc, clang): install one, or name it in CC\n"
    )


@pytest.mark.parametrize("name", ["adios2", "h5part", "pio", "silo"])
def test_the_examples_compile(name: str, cache: Path) -> None:
    """Silo's prototypes are compared with its header; the others' libraries are not in Debian 12."""
    file = EXAMPLES / f"{name}.toml"
    if name == "silo" and not Path("/usr/include/silo.h").exists():
        pytest.skip("needs silo.h: libsilo-dev is not installed")
    done = fathom(cache, "list", "probes", "check", file)
    assert (done.returncode, done.stderr) == (0, "")
    functions = re.search(r": (\d+) functions", done.stdout)
    assert functions
    assert int(functions[1]) >= 20


@pytest.mark.parametrize("name", ["cephfs", "gluster", "pvfs2"])
def test_catalogs_of_servers_can_be_built(cache: Path, name: str) -> None:
    file = paths.ROOT / "catalog" / "probes" / "servers" / f"{name}.toml"
    done = fathom(cache, "list", "probes", "check", file)
    assert (done.returncode, done.stderr) == (0, "")


def test_nothing_of_silo_that_looks_like_io_is_forgotten() -> None:
    """As for built-in catalogs: a row, or left out with a reason; and every row is exported."""
    library = next(Path("/usr/lib").glob("*/libsiloh5.so"), None)
    if not library:
        pytest.skip("needs libsiloh5.so: libsilo-dev is not installed")
    listing = subprocess.run(
        ["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True
    )
    exported = {line.split()[-1].partition("@")[0] for line in listing.stdout.splitlines()}
    api = load_api(EXAMPLES / "silo.toml")
    rows = {symbol for call in api.calls for symbol in call.symbols()}
    forgotten = {
        name
        for name in exported - rows
        if re.match(api.looks_like[0], name)
        and not any(fnmatch.fnmatchcase(name, glob) for glob in api.left_out)
    }
    assert forgotten == set()
    # Declared in silo.h, and not exported by Debian's build of 4.11.
    assert rows - exported == {"DBRead", "DBCpListedObject"}


def test_a_silo_file_is_seen_from_variable_to_byte(cache: Path, tmp_path: Path) -> None:
    """DBPutQuadvar1 -> H5Dwrite -> pwrite: all that was written is below the call that asked for it."""
    needs.require(["g++"])
    if not Path("/usr/include/silo.h").exists():
        pytest.skip("needs silo.h: libsilo-dev is not installed")
    program, out = tmp_path / "silo", tmp_path / "out.silo"
    source = ["gcc", "-O2", "-Wall", SOURCES / "silo.c", "-o", program, "-lsiloh5", "-lstdc++"]
    subprocess.run(source, check=True)
    run = tmp_path / "run.fathom"
    words = ["--probes", EXAMPLES / "silo.toml", "--", program, out]
    assert fathom(cache, "run", "--no-show", "-o", run, *words).stdout == "done\n"
    connection = tables.connect(run)
    asked = """
        select p.op, o.name, h.op, sum(h.bytes)::int
        from calls h join calls p on p.id = h.parent join objects o on o.object = p.object
        where h.op in ('H5Dwrite', 'H5Dread') and o.class = 'named' group by all order by all"""
    assert tables.ask(connection, asked) == [
        ["DBGetQuadvar", "density", "H5Dread", 64 * 64 * 8],
        ["DBPutQuadmesh", "mesh", "H5Dwrite", 4 + 2 * 64 * 8],
        ["DBPutQuadvar1", "density", "H5Dwrite", 64 * 64 * 8],
    ]
    asked = f"""
        with recursive above as (
            select id, id as low, parent from calls
            where op = 'pwrite' and file = (select file from files where path = '{out}')
            union all select c.id, a.low, c.parent from above a join calls c on c.id = a.parent)
        select count(*) filter (t.layer = 'silo'), count(*) from above a join calls t using (id)
        where a.parent is null"""
    ((below_silo, all_of_them),) = tables.ask(connection, asked)
    assert below_silo == all_of_them > 10
