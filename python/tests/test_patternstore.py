"""The pattern store without a program: distances, the file it is, what others wrote, settings moved to other sizes."""

from __future__ import annotations

import itertools
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fathom.__main__ import main
from fathom.errors import FathomError, UsageError
from fathom.tune.search.space import Dimension, Space
from fathom.tune.settings import toml
from fathom.tune.settings.settings import catalog
from fathom.tune.store import exchange, look
from fathom.tune.store.base import Base, default_place
from fathom.tune.store.distance import THRESHOLD, distance
from fathom.tune.store.entry import Entry, Given, Tuned, covers, of_data
from fathom.tune.store.fingerprint import Machine, Stack
from fathom.tune.store.look import Lookup, Match
from fathom.tune.store.shape import Group, Shape
from fathom.tune.store.transfer import moved, nearest, scaled

MIB = 1 << 20
#: As tests/test_patterns.py finds them: VPIC, VORPAL, GCRM, S3D, FLASH, IOR, Athena's history, tiles that are read.
KEYS = (
    "hdf5 write collective 4 (BLOCK)",
    "hdf5 write collective 8 (*,BLOCK,BLOCK)",
    "hdf5 write collective 8 (*,GEN_BLOCK,GEN_BLOCK)",
    "hdf5 write collective 4 (*,*,BLOCK)",
    "pnetcdf write nonblocking 8 (*,*,BLOCK,BLOCK)",
    "hdf5 write collective 8 (GEN_BLOCK,*,*,*)",
    "posix write independent - (CYCLIC(k))",
    "mpiio write independent - (BLOCK)",
    "mpiio read collective - (BLOCK,BLOCK) ghosts",
    "hdf5 write mixed 8 (CYCLIC,CYCLIC(k),*) holes copies",
)
STACK = Stack("MPICH", ("hdf5", "romio"), ("libhdf5_mpich.so.103.3.0", "libmpich.so.12.2.2"))
MACHINE = Machine(("nid*",), 2450, ("ceph:10.0.0.1:/",))


def shape(key: str = KEYS[0], **given: Any) -> Shape:
    plain = {
        "ranks": 4,
        "arrays": 8,
        "bytes": 64 * MIB,
        "rank_bytes": 2.0 * MIB,
        "run_bytes": 2 * MIB,
        "share": 1.0,
    }
    return Shape(key, **{**plain, **given})


def entry(name: str = "vpic", *given: Given, key: str = KEYS[0], **rest: Any) -> Entry:
    tuned = Tuned("vpic.*.h5", "ceph", shape(key), given or (Given("romio.cb_nodes", 4),))
    plain = Entry(
        name, 1.7e9, "rate", "MB/s", True, 100.0, 250.0, (99.0, 100.0, 101.0), (250.0, 251.0), "gain", 4,
        STACK, MACHINE, (tuned,),
    )  # fmt: skip
    return replace(plain, **rest)


def group(name: str = "out.*.h5", **rest: Any) -> Group:
    return Group(name, (f"/ceph/run/{name.replace('*', '7')}",), "ceph", ("/x",), shape(**rest))


def lookup(*given: Given) -> Lookup:
    return Lookup((Match(group(), "exact", entry(), None, None, given, ()),))


# ---- distances


@pytest.mark.parametrize("key", KEYS)
def test_a_pattern_is_as_far_from_itself_as_its_sizes_are(key: str) -> None:
    assert distance(shape(key), shape(key)).total == 0
    far = distance(shape(key), shape(key, rank_bytes=64.0 * MIB, ranks=64))
    assert {name for name, _ in far.parts} == {"bytes of a rank", "ranks"}
    assert 0 < far.total < THRESHOLD


@pytest.mark.parametrize(("one", "other"), list(itertools.combinations(KEYS, 2)))
def test_a_distance_is_the_same_both_ways_and_below_1(one: str, other: str) -> None:
    there, back = distance(shape(one), shape(other)), distance(shape(other), shape(one))
    assert there.total == pytest.approx(back.total)
    assert 0 < there.total < 1
    assert there.total == pytest.approx(sum(part for _, part in there.parts))


def test_what_is_laid_out_alike_is_near() -> None:
    """Whole dimensions at the end say nothing; blocks of other sizes little; other dimensions much."""
    vpic, flash, gcrm = (
        shape(KEYS[0]),
        shape("hdf5 write collective 4 (BLOCK,*,*,*)"),
        shape(KEYS[3]),
    )
    assert distance(flash, vpic).total < distance(flash, gcrm).total
    even, uneven = shape(KEYS[1]), shape(KEYS[2])
    assert distance(even, uneven).total < distance(even, gcrm).total / 2


def test_reads_and_independent_calls_are_too_far_from_collective_writes() -> None:
    for other in ("hdf5 read collective 4 (BLOCK)", "hdf5 write independent 4 (BLOCK)"):
        assert distance(shape(), shape(other)).total > THRESHOLD


def test_of_irregular_patterns_nothing_is_known() -> None:
    chombo = shape("hdf5 write independent 8 (IRREGULAR)", run_bytes=0)
    assert distance(chombo, chombo).total == 1


@pytest.mark.parametrize(
    "key", ["", "hdf5 write", "hdf5 write collective 4 (BLOCK", "a b c 4 (X)", "hdf5 write x 4 ()"]
)
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="is no key of a pattern"):
        assert shape(key).parts


# ---- the file


def test_what_was_added_is_there_once(tmp_path: Path) -> None:
    base = Base(tmp_path / "a" / "s.db", write=True)
    assert base.add([entry(), entry("s3d", key=KEYS[4], added=1.75e9)]) == 2
    assert base.add([entry(), entry("other name", added=1.8e9)]) == 0
    assert (
        base.entries()
        == Base(tmp_path / "a" / "s.db").entries()
        == [entry(), entry("s3d", key=KEYS[4], added=1.75e9)]
    )
    assert base.remove(entry().id[:6]).name == "vpic"
    assert [one.name for one in base.entries()] == ["s3d"]
    with pytest.raises(FathomError, match="no search whose id begins with 'zz'"):
        base.remove("zz")


def broken(path: Path) -> None:
    Base(path, write=True).add(entry(str(n), ranks=n) for n in range(200))
    content = bytearray(path.read_bytes())
    content[3 * 4096 : 9 * 4096] = b"\xa5" * (6 * 4096)
    path.write_bytes(content)


def cut(path: Path) -> None:
    Base(path, write=True).add([entry()])
    path.write_bytes(path.read_bytes()[:5000])


def foreign(path: Path) -> None:
    with sqlite3.connect(path) as base:
        base.execute("create table mine (a)")


def newer(path: Path) -> None:
    Base(path, write=True)
    with sqlite3.connect(path) as base:
        base.execute("pragma user_version = 7")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda path: path.write_text("hello\n" * 1000), "file is not a database; move it away"),
        (lambda path: path.mkdir(), "is no file; name another with --store"),
        (broken, "move it away, and import an export"),
        (cut, "move it away, and import an export"),
        (foreign, "is no pattern store; name another with --store"),
        (newer, "has format 7, this Fathom reads 1; export it with the Fathom that made it"),
    ],
)
@pytest.mark.parametrize("write", [False, True])
def test_a_store_that_cannot_be_read_is_one_line(
    tmp_path: Path, spoil: Any, says: str, write: bool
) -> None:
    spoil(tmp_path / "s.db")
    with pytest.raises(FathomError) as error:
        Base(tmp_path / "s.db", write=write)
    assert says in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_a_row_that_cannot_be_read_costs_that_row(tmp_path: Path) -> None:
    base = Base(tmp_path / "s.db", write=True)
    base.add([entry(), entry("s3d", key=KEYS[4]), entry("gcrm", key=KEYS[3])])
    base.base.execute(
        'update patterns set settings = \'[{"knob": "romio.gone"}]\' where key = ?', (KEYS[3],)
    )
    base.base.execute("update searches set stack = '[1' where name = 's3d'")
    assert [one.name for one in base.entries()] == ["vpic"]
    assert any("no knob 'romio.gone'" in line for line in base.unread) and len(base.unread) == 2


ADDS = """
import sys, time
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_patternstore import Base, entry
while not Path(sys.argv[1]).exists():
    time.sleep(0.001)
for n in range(8):
    own = entry(sys.argv[3], ranks=int(sys.argv[3]) * 100 + n)
    Base(Path(sys.argv[2]), write=True).add([own, entry("both", ranks=n)])
"""


def test_processes_that_add_at_once_lose_nothing(tmp_path: Path) -> None:
    """The file is not there before, so all of them make it."""
    words = [
        sys.executable,
        "-c",
        ADDS.format(tests=str(Path(__file__).parent)),
        tmp_path / "go",
        tmp_path / "s.db",
    ]
    started = [
        subprocess.Popen([*words, str(n)], stderr=subprocess.PIPE, text=True) for n in (1, 2)
    ]
    (tmp_path / "go").touch()
    assert [one.communicate(timeout=300)[1] for one in started] == ["", ""]
    names = [one.name for one in Base(tmp_path / "s.db").entries()]
    assert {name: names.count(name) for name in names} == {"1": 8, "2": 8, "both": 8}


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (replace(MACHINE, mhz=2446), True),
        (replace(MACHINE, mhz=None), True),
        (replace(MACHINE, mhz=3000), False),
        (replace(MACHINE, hosts=("other*",)), False),
        (replace(MACHINE, storage=()), False),
    ],
)
def test_which_machine_is_the_same(other: Machine, same: bool) -> None:
    assert MACHINE.same(other) is other.same(MACHINE) is same


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FATHOM_STORE", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert default_place() == Path("/data/fathom/patterns.db")
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setenv("HOME", "/home/me")
    assert default_place() == Path("/home/me/.local/share/fathom/patterns.db")
    monkeypatch.setenv("FATHOM_STORE", "/centre/p.db")
    assert default_place() == Path("/centre/p.db")


# ---- to and from others

HOSTILE = (
    "'; drop table searches; --",
    'a"b\\c',
    "\x1b[31mred\x07",
    "line\nend",
    "../../etc/passwd",
    "日本\U0001f600",
    "",
)


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_goes_through(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = entry()
    renamed = replace(plain, name=name, groups=(replace(plain.groups[0], files=name),))
    Base(tmp_path / "a.db", write=True).add([renamed])
    assert (
        main(
            ["tune", "store", "export", str(tmp_path / "a.json"), "--store", str(tmp_path / "a.db")]
        )
        == 0
    )
    assert (
        main(
            ["tune", "store", "import", str(tmp_path / "a.json"), "--store", str(tmp_path / "b.db")]
        )
        == 0
    )
    assert Base(tmp_path / "b.db").entries() == [renamed]
    capsys.readouterr()
    assert main(["tune", "store", "list", "--store", str(tmp_path / "b.db")]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown and len(shown.splitlines()) == 2


def test_stores_are_merged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Base(tmp_path / "a.db", write=True).add([entry(), entry("s3d", key=KEYS[4], added=1.75e9)])
    Base(tmp_path / "b.db", write=True).add([entry(), entry("gcrm", key=KEYS[3])])
    words = ["tune", "store", "merge", str(tmp_path / "a.db"), str(tmp_path / "b.db")]
    assert main([*words, "--store", str(tmp_path / "centre.db")]) == 0
    assert "3 searches added, 1 there already" in capsys.readouterr().out
    assert {one.name for one in Base(tmp_path / "centre.db").entries()} == {"vpic", "s3d", "gcrm"}
    assert (
        main([*words[:3], str(tmp_path / "none.db"), "--store", str(tmp_path / "centre.db")]) == 3
    )
    assert "there is no pattern store" in capsys.readouterr().err
    assert not (tmp_path / "none.db").exists()


def changes() -> Iterable[tuple[str, Any, str]]:
    yield "knob", "romio.no_such", "no knob 'romio.no_such'"
    yield "value", -5, "out of its range"
    yield "beside", {"nothing": 1}, "romio has no knob 'nothing'"
    yield "launch", "yes", "neither true nor false"
    yield "dataset", 3, "is no text"


@pytest.mark.parametrize(("key", "value", "says"), list(changes()))
def test_settings_of_others_are_checked(tmp_path: Path, key: str, value: Any, says: str) -> None:
    data = entry().data()
    data["groups"][0]["settings"][0][key] = value
    written(tmp_path, [entry("fine").data(), data])
    with pytest.raises(UsageError) as error:
        exchange.read(tmp_path / "e.json")
    assert says in str(error.value) and "e.json: entry 2: is no entry of a pattern store" in str(
        error.value
    )


def written(folder: Path, entries: Any, **rest: Any) -> None:
    content = {"kind": exchange.KIND, "format": 1, "entries": entries} | rest
    (folder / "e.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("entries", "rest", "says"),
    [
        ([], {"kind": "x"}, "is no export of a pattern store"),
        ([], {"format": 2}, "has format 2, this Fathom reads 1"),
        ({}, {}, "has no list of entries"),
        ([None], {}, "entry 1: is no entry"),
        ([{}], {}, "entry 1: is no entry of a pattern store: no 'name'"),
        ([{**entry().data(), "best": float("nan")}], {}, "'nan' is no number"),
        ([{**entry().data(), "ranks": -1}], {}, "'-1' is no whole number"),
        ([{**entry().data(), "model": {"format": 9}}], {}, "no model of fathom tune"),
        ([{**entry().data(), "groups": [{**entry().data()["groups"][0], "shape": {}}]}], {}, "no 'key'"),
    ],
)  # fmt: skip
def test_a_wrong_export_is_one_line(tmp_path: Path, entries: Any, rest: Any, says: str) -> None:
    written(tmp_path, entries, **rest)
    with pytest.raises(UsageError) as error:
        exchange.read(tmp_path / "e.json")
    assert says in str(error.value) and len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("text", ["", "{", "\xff\xfe", "[" * 100_000])
def test_what_is_no_json_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "e.json").write_text(text, encoding="latin-1")
    with pytest.raises(UsageError, match=r"e\.json: "):
        exchange.read(tmp_path / "e.json")


def test_an_entry_is_what_it_was() -> None:
    original = entry(
        "x", Given("hdf5.chunk", [4, 4], dataset="/a*"), Given("ompio.io", "romio321", launch=True)
    )
    again = of_data("x", json.loads(json.dumps(original.data())))
    assert again == original and again.id == original.id
    assert replace(original, ranks=5).id != original.id == replace(original, name="y", added=0.0).id


@pytest.mark.parametrize(
    "words", [[], ["look"], ["look", "a", "b"], ["list", "x"], ["drop"], ["add"], ["export"]]
)
def test_wrong_words_are_one_line(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "store", *words]) == 2
    assert capsys.readouterr().err.startswith(
        "fathom: tune store: one of add NAME.tune …, look RUN"
    )


@pytest.mark.parametrize("name", ["gone", "gone.tune", "gone.tune/"])
def test_a_search_that_is_not_there_is_named(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "store", "add", name]) == 3
    assert capsys.readouterr().err.startswith("fathom: gone.tune: is no search")


# ---- settings moved


@pytest.mark.parametrize(
    ("knob", "value", "ranks", "now", "then"),
    [
        ("romio.cb_nodes", 4, 4, 64, 64),  # all
        ("romio.cb_nodes", 2, 4, 64, 32),
        ("romio.cb_nodes", 2, 64, 4, 1),
        ("romio.cb_nodes", 1, 4, 64, 1),  # one
        ("romio.cb_nodes", 3, 12, 96, 32),
        ("romio.cb_nodes", 2, 4, 4, 2),
        ("romio.cb_buffer_size", "4MiB", 4, 64, "4MiB"),
    ],
)
def test_what_is_counted_by_ranks_keeps_its_share(
    knob: str, value: Any, ranks: int, now: int, then: Any
) -> None:
    assert scaled(catalog()[knob], value, ranks, now) == then


def test_what_nothing_takes_is_left_out_and_said() -> None:
    given = (
        Given("romio.cb_nodes", 2), Given("pnetcdf.nc_var_align_size", "1MiB"),
        Given("hdf5.chunk", [8], dataset="/x*"), Given("hdf5.chunk", [8], dataset="/y"),
    )  # fmt: skip
    pairs = list(moved(entry("a", *given).groups[0], 4, group(), 8, STACK))
    assert [one.value for one, _ in pairs] == [4, None, [8], None]
    assert [remark for _, remark in pairs] == [
        "cb_nodes 2 -> 4: 4 -> 8 ranks",
        "pnetcdf.nc_var_align_size left out: nothing here takes it",
        "",
        "chunk left out: no dataset '/y' here",
    ]


def test_what_all_ranks_must_do_alike_is_taken_where_that_is_accepted() -> None:
    tuned = entry("a", Given("hdf5.dxpl_mpio", "collective", dataset="/x*")).groups[0]
    (accepted,) = moved(tuned, 4, group(), 4, STACK, accept=("all-ranks",))
    assert (accepted[0].value, accepted[1]) == ("collective", "")
    (left,) = moved(tuned, 4, group(), 4, STACK)
    assert left[0].value is None
    assert left[1].startswith("dxpl_mpio left out: wrong or hanging unless all ranks")


def test_what_gained_goes_before_a_later_search_without_a_gain() -> None:
    far = distance(shape(), shape())
    entries = [entry("gained"), entry("later", verdict="none", added=1.8e9)]
    assert min(entries, key=lambda one: look._order(one, far, MACHINE)).name == "gained"
    entries.append(entry("latest", added=1.9e9))
    assert min(entries, key=lambda one: look._order(one, far, MACHINE)).name == "latest"


def test_groups_of_files_have_settings_of_their_own() -> None:
    one = Match(
        group("a.*.h5"),
        "exact",
        entry(),
        None,
        None,
        (
            Given("romio.cb_nodes", 4, {"cb_config_list": "*:*"}),
            Given("romio.cb_config_list", "*:2", launch=True),
        ),
        (),
    )
    two = Match(
        group('b"\U0001f600.h5'),
        "similar",
        entry(),
        None,
        None,
        (Given("romio.cb_nodes", 1), Given("romio.cb_config_list", "*:4", launch=True)),
        (),
    )
    three = Match(group("c.h5"), "train", None, None, None, (), ())
    text = Lookup((one, two, three)).text
    read = toml.read("x", text)
    assert [(rule.files, [s.text for s in rule.settings]) for rule in read.rules] == [
        (("*/a.*.h5",), ["*:*", "4"]), (('*/b"\U0001f600.h5',), ["1"]),
    ]  # fmt: skip
    assert [one.text for one in read.launch] == ["*:2"]  # of the group of most bytes


def test_layouts_are_those_of_the_directory_here() -> None:
    text = lookup(Given("ceph.stripe_count", 4, layout=True)).text
    assert text == '[[layout]]\ndirectory = "/ceph/run"\n[layout.ceph]\nstripe_count = 4\n'


SPACE = Space(
    (
        Dimension("cb_nodes", "romio.cb_nodes", (None, 1, 2, 4)),
        Dimension("size", "romio.cb_buffer_size", (None, "1MiB", "4MiB", "16MiB")),
        Dimension("write", "romio.romio_cb_write", (None, "enable", "disable")),
        Dimension("other", "romio.cb_nodes", (None, 1, 2), {"group": "plot.*.h5"}),
    )
)


def test_a_winner_is_a_seed_at_the_nearest_values() -> None:
    given = (
        Given("romio.cb_nodes", 4),
        Given("romio.cb_buffer_size", "3MiB"),
        Given("romio.romio_cb_write", "disable"),
    )
    assert lookup(*given).seeds(SPACE) == [(3, 2, 2, 0)]
    assert lookup(Given("romio.cb_nodes", 64)).seeds(SPACE) == [(3, 0, 0, 0)]
    assert lookup(Given("hdf5.istore_k", 64)).seeds(SPACE) == []  # not in the space
    assert lookup().seeds(SPACE) == []  # nothing gained
    assert nearest(SPACE.dimensions[2], "automatic") == 0


def test_a_seed_that_breaks_a_constraint_is_none() -> None:
    from fathom.tune.search.constraint import parse

    held = replace(SPACE, constraints=(parse("cb_nodes < 4", ["cb_nodes"]),))
    assert lookup(Given("romio.cb_nodes", 4)).seeds(held) == []


@pytest.mark.parametrize(
    ("where", "holds"),
    [
        ({}, True),
        ({"group": "out.*.h5"}, True),
        ({"group": "plot.*.h5"}, False),
        ({"match": ["/ceph/*"]}, True),
        ({"match": ["/ceph/*", "!*.h5"]}, False),
        ({"match": "*.nc"}, False),
        ({"match": ["!*/x", "/ceph/run/*"]}, True),
    ],
)
def test_which_files_a_setting_is_of(where: dict[str, Any], holds: bool) -> None:
    assert covers(where, group().paths) is holds
