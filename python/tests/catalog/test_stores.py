"""What an access costs on a store: the catalog's files, the mistakes in one, the table, the page."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from fathom.catalog.model import CatalogError
from fathom.catalog.stores import (
    CALLS,
    DIRECTIONS,
    KINDS,
    MOVES,
    Figure,
    Store,
    load_stores,
    stores,
)
from fathom.pages.stores_page import page
from fathom.run import macros, paths

FILES = sorted((paths.SOURCE_TREE / "catalog" / "stores").glob("*.toml"))
STORE = """
[store]
title = "my store"
kind = "network"
types = ["myfs"]

[sources]
me = { title = "Mine", year = 2026, at = "https://example.org" }

[[figure]]
of = "rate"
read = [1e6, 2e6]
write = [1e6, 3e6]
says = { me = "1 to 3 MB/s" }

[[figure]]
of = "sync"
range = [0.001, 0.002]
says = { me = "a millisecond or two" }

[[layout]]
of = "stripe_bytes"
value = 4096
says = { me = "4 KiB" }
"""


def write(folder: Path, text: str = STORE, name: str = "my.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def high(store: str, of: str, direction: str = "") -> float:
    figure = stores()[store].figure(of, direction)
    assert figure
    return figure.high


def low(store: str, of: str, direction: str = "") -> float:
    figure = stores()[store].figure(of, direction)
    assert figure
    return figure.low


def test_the_store_that_the_mistakes_are_made_in_is_good(tmp_path: Path) -> None:
    (store,) = load_stores([write(tmp_path)]).values()
    assert (store.name, store.kind, store.types) == ("my", "network", ("myfs",))
    rate = store.figure("rate", "write")
    assert rate and (rate.low, rate.high, rate.says) == (1e6, 3e6, {"me": "1 to 3 MB/s"})
    assert rate.best == pytest.approx(1.732e6, rel=1e-3)
    assert store.default("stripe_bytes") == 4096 and store.default("lock_unit") is None
    assert store.figure("open") is None


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[store]", "[[store]]", "my.toml: [store]: must be a table"),
        ("[store]", "[store", "my.toml: file: is not TOML"),
        ("[[layout]]", "[[lay]]", "lay: is neither"),
        ("[[layout]]", "[layout]", "layout: must be written as [[layout]]"),
        ('kind = "network"', 'kind = "netwrk"', "[store] kind: 'netwrk' is none of"),
        ('kind = "network"', "", "[store] kind: is missing"),
        ('title = "my store"', "", "[store] title: is missing"),
        ('title = "my store"', "titles = 1", "[store] titles: is none of"),
        ('types = ["myfs"]', "", "[store] types: is missing"),
        ('types = ["myfs"]', 'types = ["MyFS"]', "[store] types: 'MyFS' must be in small letters"),
        ('types = ["myfs"]', 'types = ["myfs"]\ngeneral = true', "general: has no [[figure]]"),
        ("year = 2026, ", "", "source me year: is missing"),
        ('at = "https://example.org"', 'url = "x"', "source me url: is none of"),
        ("[[figure]]", 'other = { title = "Y", year = 1, at = "Z" }\n[[figure]]', "source other"),
        ('of = "rate"', 'of = "speed"', "figure speed of: 'speed' is none of"),
        ('of = "rate"', "", "figure 1 of: is missing"),
        ('of = "sync"', 'of = "rate"', "figure rate range: is not for rate"),
        ("range = [0.001", "read = [0.001", "figure sync read: is not for sync"),
        ("range = [0.001, 0.002]", "", "figure sync range: is missing"),
        ("range = [0.001, 0.002]", "range = [0.003, 0.002]", "sync range: [0.003, 0.002] must be"),
        ("range = [0.001, 0.002]", "range = [0, 0.002]", "sync range: [0, 0.002] must be above 0"),
        ("range = [0.001, 0.002]", "range = [0.002]", "sync range: must be two numbers"),
        ("range = [0.001, 0.002]", 'range = ["a", "b"]', "sync range: must be two numbers"),
        ("range = [0.001, 0.002]", "range = [0.001, inf]", "sync range: [0.001, inf] must be"),
        ("range = [0.001, 0.002]", "range = 0.002", "figure sync range: must be"),
        ("range = [0.001, 0.002]", "ranges = [0.001, 0.002]", "figure sync ranges: is none of"),
        ('says = { me = "1 to 3 MB/s" }', "", "figure rate says: is missing: no source, no figure"),
        ('{ me = "1 to 3 MB/s" }', '{ you = "1" }', "figure rate says: 'you' is none of this"),
        ('{ me = "1 to 3 MB/s" }', '{ me = " " }', "figure rate says.me: must tell"),
        ("value = 4096", "value = 0", "layout stripe_bytes value: 0 must be above 0"),
        ("value = 4096", "", "layout stripe_bytes value: is missing"),
        ('of = "stripe_bytes"', 'of = "stripes"', "layout stripes of: 'stripes' is none of"),
        ('says = { me = "4 KiB" }', "", "layout stripe_bytes says: is missing"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, old: str, new: str, says: str) -> None:
    assert old in STORE
    with pytest.raises(CatalogError) as error:
        load_stores([write(tmp_path, STORE.replace(old, new, 1))])
    line = str(error.value)
    assert "\n" not in line and "my.toml" in line and says in line, line


def test_a_figure_or_a_type_is_there_once(tmp_path: Path) -> None:
    twice = STORE + '\n[[figure]]\nof = "rate"\nread = [1, 2]\nsays = { me = "so" }\n'
    with pytest.raises(CatalogError, match="figure rate read: is there twice"):
        load_stores([write(tmp_path, twice)])
    with pytest.raises(CatalogError, match="types: 'myfs' is also in a"):
        load_stores([write(tmp_path, name="a.toml"), write(tmp_path, name="b.toml")])


def test_a_general_store_covers_its_kind(tmp_path: Path) -> None:
    general = '[store]\ntitle = "any"\nkind = "network"\ngeneral = true\ntypes = ["any"]\n'
    other = STORE.replace("myfs", "other").replace("[1e6, 2e6]", "[5e5, 9e5]")
    other = other.replace('of = "sync"', 'of = "open"')
    read = load_stores(
        [write(tmp_path), write(tmp_path, other, "b.toml"), write(tmp_path, general, "any.toml")]
    )
    covers = read["any"].figure("rate", "read")
    assert covers and (covers.low, covers.high) == (5e5, 2e6)
    opened, synced = read["my"].figure("open"), read["b"].figure("sync")
    assert opened and synced and opened.store == synced.store == "any"
    with pytest.raises(CatalogError, match="is that of kind network"):
        load_stores(
            [write(tmp_path, general, "a.toml"), write(tmp_path, general.replace('"any"]', '"b"]'))]
        )


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_of_the_catalog_names_who_says_it(path: Path) -> None:
    store = stores()[path.stem]
    own: list[Figure] = [one for one in store.figures.values() if one.store == store.name]
    for one in own if not store.general else []:
        assert one.says and all(store.sources[key].at for key in one.says), one
    for default in store.layout.values():
        assert default.says, default
    assert all(1990 <= source.year <= 2026 for source in store.sources.values())


def test_every_kind_but_memory_has_a_general_store() -> None:
    generals = [store.kind for store in stores().values() if store.general]
    assert sorted(generals) == sorted(set(KINDS) - {"memory"})


@pytest.mark.parametrize("store", stores().values(), ids=lambda store: store.name)
def test_nothing_is_unknown_that_must_be_known(store: Store) -> None:
    for of in (*MOVES, *CALLS):
        for way in DIRECTIONS if of in MOVES else ("",):
            figure = store.figure(of, way)
            if of == "lock" and store.kind != "network":
                assert figure is None, "one node: no lock between clients"
            elif not (of == "server_rate" and store.kind == "memory"):
                assert figure, (of, way)


def test_stores_differ_as_they_must() -> None:
    for way in DIRECTIONS:
        assert high("tmpfs", "request.server", way) < low("lustre", "request.server", way)
        for store in ("ext4", "lustre", "nfs", "gpfs", "local", "network"):
            assert low(store, "request.cached", way) < low(store, "request.server", way)
            assert high(store, "request.cached", way) < high(store, "request.server", way)
        assert high("tmpfs", "request.cached", way) < high("network", "request.cached", way)
        assert low("nfs", "server_rate", way) <= low("lustre", "server_rate", way)
    for call in ("sync", "stat", "create", "remove"):
        assert high("tmpfs", call) < low("lustre", call)
    assert high("tmpfs", "sync") < low("ext4", "sync") < low("nfs", "sync")
    assert high("tmpfs", "open") < low("lustre", "open")


def test_orders_of_magnitude() -> None:
    for store in stores().values():
        for (of, _), figure in store.figures.items():
            least, most = (1e6, 1e11) if of.endswith("rate") else (1e-7, 2)
            assert least <= figure.low <= figure.best <= figure.high <= most, (store.name, of)


@pytest.mark.parametrize(
    ("file_system", "name"),
    [
        ("lustre", "lustre"), ("LUSTRE", "lustre"), ("nfs4", "nfs"), ("nfs", "nfs"), ("mmfs", "gpfs"),
        ("gpfs", "gpfs"), ("ceph", "cephfs"), ("fuse.ceph-fuse", "cephfs"), ("ext4", "ext4"),
        ("tmpfs", "tmpfs"), ("overlay", "local"), ("fuse.sshfs", "network"),
        ("fuse.nobody", "network"), ("whatfs", "network"), ("", "network"), (None, "network"),
    ],
)  # fmt: skip
def test_a_type_has_its_store(file_system: str | None, name: str) -> None:
    row = macros.execute(duckdb.connect(), "select store_of(?)", [file_system]).fetchone()
    assert row == (name,)


def test_what_the_packer_takes_for_a_network_is_one() -> None:
    """The packer's list and the macro are made from one: the kinds network, but what nodes may mount apart."""
    rust = (paths.SOURCE_TREE / "engine/pack/src/network.rs").read_text(encoding="utf-8")
    types = re.findall(r'^\t"([^"]+)",$', rust, re.MULTILINE)
    certain = "nfs nfs4 lustre ceph gpfs beegfs cifs smb3 9p pvfs2 orangefs glusterfs afs panfs"
    certain += " wekafs ocfs2 gfs2"
    fuse = [f"fuse.{name}" for name in ("ceph", "glusterfs", "sshfs", "dfuse", "daos", "juicefs")]
    assert {*certain.split(), *fuse} < set(types)
    known = {name: store.kind for store in stores().values() for name in store.types}
    assert {name: known.get(name) for name in types} == dict.fromkeys(types, "network")
    connection = duckdb.connect()
    for one in [*types, "ext4", "tmpfs", "fuse", "autofs", ""]:
        (is_network,) = macros.execute(connection, "select is_network($1)", [one]).fetchone()
        assert is_network == (one in types), one


def test_the_macros_join_files() -> None:
    connection = duckdb.connect()
    joined = macros.execute(
        connection,
        """
        select path, s.* from (values ('a', 'lustre'), ('b', 'EXT4'), ('c', 'strange'), ('d', null)) as f(path, type)
        join stores() as s on s.store = store_of(f.type) and s.direction = 'write'
        order by path
    """,
    )
    rows = [
        dict(zip((one[0] for one in joined.description or ()), row, strict=True))
        for row in joined.fetchall()
    ]
    assert [(row["path"], row["store"], row["kind"]) for row in rows] == [
        ("a", "lustre", "network"),
        ("b", "ext4", "local"),
        ("c", "network", "network"),
        ("d", "network", "network"),
    ]
    for row in rows:
        for of in ("request.cached", "request.server", "rate"):
            figure = stores()[row["store"]].figure(of, "write")
            name = of.removeprefix("request.")
            assert figure and (row[f"{name}_low"], row[f"{name}_high"]) == (figure.low, figure.high)
    assert rows[0]["stripe_bytes"] == stores()["lustre"].default("stripe_bytes")


def test_it_loads_without_what_is_slow() -> None:
    program = (
        "import sys; from fathom.catalog.stores import stores; stores();"
        "print([name for name in ('numpy', 'pyarrow', 'duckdb') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_page_of_stores_is_of_now() -> None:
    document = (paths.SOURCE_TREE / "docs" / "stores.md").read_text(encoding="utf-8")
    assert document == page(stores().values()), (
        "python -m fathom.pages.stores_page > docs/stores.md"
    )
