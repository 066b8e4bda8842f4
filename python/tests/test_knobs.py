"""The knob catalog and settings files: all rows are good, each mistake is one line, forms turn into each other."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from fathom.__main__ import main
from fathom.catalog import knob_pages
from fathom.catalog.knobs import load_knobs
from fathom.catalog.model import CatalogError
from fathom.errors import UsageError
from fathom.tune.settings import compiled, toml, xml

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "catalog" / "knobs").glob("*.toml"))
HEAD = (
    '[layer]\nlayer = "x"\ntitle = "X"\nroute = "mpi-info"\nstacks = []\nsource = "s"\n[[knob]]\n'
)
ROW = 'name = "k"\nmeans = "m"\ntype = "int"\nleast = 0\nmost = 9\ndefault = "1"\nsafety = "free"\n'

WHOLE = """
accept = ["all-ranks"]
[[file]]
match = ["*.h5", "!*/tmp/*"]
group = "plot-*.h5"
[file.hdf5]
alignment = [0, "1MiB"]
cache = [0, 521, "2MiB", 0.5]
coll_metadata_write = true
file_space_strategy = ["page", false, 1]
[file.romio]
cb_buffer_size = "8MiB"
[[file.dataset]]
name = "/a/*"
chunk = [32, 64]
dxpl_mpio = "collective"
[launch.ompio]
io = "romio321"
[launch.romio]
cb_nodes = 2
[launch.pnetcdf]
nc_var_align_size = "4KiB"
nc_header_align_size = 512
"""

COMPILED = """fathom-tuned 1
environment OMPI_MCA_io romio321
environment PNETCDF_HINTS nc_var_align_size=4096;nc_header_align_size=512
romio cb_nodes 2
rule
file *.h5
file !*/tmp/*
file */plot-*.h5
set alignment 0 1048576
set cache 0 521 2097152 0.5
set coll_metadata_write 1
set file_space_strategy 1 0 1
info cb_buffer_size 8388608
rule
file *.h5
file !*/tmp/*
file */plot-*.h5
dataset /a/*
set chunk 32 64
set dxpl_mpio 1
"""

H5TUNER = """<Parameters>
  <High_Level_IO_Library>
    <sieve_buf_size>524288</sieve_buf_size>
    <alignment FileName="rst">1,1048576</alignment>
    <chunk variable="/x">32,32</chunk>
  </High_Level_IO_Library>
  <Middleware_Layer><cb_nodes>4</cb_nodes><IBM_largeblock_io>true</IBM_largeblock_io></Middleware_Layer>
  <Parallel_File_System><striping_factor FileName="rst">8</striping_factor></Parallel_File_System>
</Parameters>"""


def test_every_row_of_the_catalog_says_all_and_has_a_page() -> None:
    knobs = load_knobs(FILES)
    pages = knob_pages.pages(knobs)
    assert len(pages) == len(FILES)
    for knob in knobs:
        assert f"| `{knob.name}` |" in pages[f"{knob.layer.path.stem}.md"]
        assert len(knob.name) <= 35, "Open MPI's MPI_MAX_INFO_KEY is 36"
        assert knob.tried or knob.proof is None, knob.key


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (ROW.replace("least = 0\n", ""), "k least: and most are missing"),
        (ROW.replace('"int"', '"odd"'), "k type: 'odd' is none of bytes, int, choice, text"),
        (ROW.replace('"free"', '"safe"'), "k safety: 'safe' is none of"),
        (ROW + "lest = 1\n", "k lest: is no key"),
        (ROW + 'set = "H5Pset"\n', "k set: goes with the route property-list"),
        (ROW + 'with = { z = "1" }\n', "k with: 'z' is no knob of this file"),
        (
            ROW + 'prove = { with = [["1"], ["1"]], shows = "writes" }\n',
            "k prove with: must be two",
        ),
        (ROW + "[[knob]]\n" + ROW, "k name: is there twice"),
    ],
)
def test_a_mistake_in_the_catalog_is_one_line(tmp_path: Path, row: str, problem: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(HEAD + ROW)
    assert len(load_knobs([path])) == 1
    path.write_text(HEAD + row)
    with pytest.raises(CatalogError, match=re.escape(problem)):
        load_knobs([path])


@pytest.mark.parametrize("mpi", ["mpich", "openmpi"])
def test_setters_take_what_the_header_of_hdf5_says(tmp_path: Path, mpi: str) -> None:
    compiler = shutil.which(f"mpicc.{mpi}")
    flags = subprocess.run(
        ["pkg-config", "--cflags", f"hdf5-{mpi}"], capture_output=True, text=True, check=False
    )
    if not compiler or flags.returncode:
        pytest.skip(f"HDF5 for {mpi} is not installed")
    lines = ["#include <hdf5.h>"]
    for knob in (knob for knob in load_knobs(FILES) if knob.set):
        types = ["int, const hsize_t *" if value.many else value.c for value in knob.values]
        lines.append(f"herr_t (*check_{knob.name})(hid_t, {', '.join(types)}) = {knob.set};")
        if any(value.numbers for value in knob.values):  # an enum is passed as an int: count them
            zeros = ", ".join("0" for _ in types)
            lines[-1] = f"herr_t check_{knob.name}(void) {{ return {knob.set}(0, {zeros}); }}"
    (tmp_path / "f.c").write_text("\n".join(lines))
    words = [compiler, "-fsyntax-only", "-Werror", *flags.stdout.split(), str(tmp_path / "f.c")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(lines) > 20


def test_settings_become_what_processes_read_and_are_read_from_what_is_written() -> None:
    read = toml.read("s.toml", WHOLE)
    assert compiled.text(read) == COMPILED
    assert compiled.text(toml.read("again", toml.text(read))) == COMPILED


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[[file]]\n[file.romio]\ncb_buffer_size = -5", "cb_buffer_size: -5 is out of its range"),
        ("[[file]]\n[file.romio]\ncb_buffer_size = '3GiB'", "is out of its range, from 1 to 2,147"),
        ("[[file]]\n[file.romio]\nromio_cb_write = 'yes'", "'yes' is none of automatic, enable"),
        ("[[file]]\n[file.romio]\ncb_node = 5", "romio has no knob 'cb_node'; there"),
        ("[[file]]\n[file.romio]\ncb_nodes = 12.5", "'12.5' is no whole number"),
        (
            "[[file]]\n[file.hdf5]\ndxpl_mpio = 'collective'",
            'write accept = ["all-ranks"] if they do',
        ),
        ("[[file]]\n[file.hdf5]\nalignment = [0, 0]", "alignment: 0 is out of its range, from 1"),
        ("[[file]]\n[file.hdf5]\nalignment = 0", "takes 2 values (threshold, alignment), 1 given"),
        ("[[file]]\n[file.hdf5]\ncache = [0, 1, 1, 1.5]", "1.5 is out of its range"),
        ("[[file]]\n[file.hdf5]\nHDF5_USE_FILE_LOCKING = 'TRUE'", "write it under [launch.hdf5]"),
        ("[[file]]\n[[file.dataset]]\nname = '/x'\nalignment = [1, 1]", "belongs to a file"),
        ("[[file]]\n[[file.dataset]]\nchunk = [1]", "which? write name"),
        ("[[file]]\n[file.romio]\ncb_nodes = 1\n[file.ompio]\ncb_nodes = 2", "are one hint"),
        ("[[file]]\nmatch = ['']\n[file.romio]\ncb_nodes = 1", "is empty, or has a line end"),
        ("[[layout]]\ndirectory = '/x'\n[layout.lustre]\nstripe_count = 2", "not tried here"),
        ("[file]\n", "is written as [[file]]"),
        ("x = 1", "no key 'x'"),
        ("", "sets nothing"),
        ("x=", "is not TOML"),
    ],
)
def test_bad_settings_are_refused_in_one_line(text: str, line: str) -> None:
    with pytest.raises(UsageError, match=re.escape(line)) as caught:
        toml.read("s.toml", text)
    assert str(caught.value).startswith("s.toml: ")
    assert "\n" not in str(caught.value)


def test_xml_of_h5tuner_is_read_and_written() -> None:
    read = xml.read("config.xml", H5TUNER)
    assert [(rule.files, rule.dataset, {s.knob.name: s.text for s in rule.settings}) for rule in read.rules] == [
        ((), "", {"sieve_buf_size": "524288", "cb_nodes": "4", "IBM_largeblock_io": "true"}),
        ((), "*x", {"chunk": "32,32"}),
        (("*rst*",), "", {"alignment": "1,1048576", "striping_factor": "8"}),
    ]  # fmt: skip
    written, left_out = xml.write(read)
    assert not left_out
    assert compiled.text(xml.read("again", written)) == compiled.text(read)
    assert compiled.text(toml.read("toml", toml.text(read))) == compiled.text(read)
    assert len(xml.write(toml.read("s.toml", WHOLE))[1]) == 11


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("<Parameters>", "is not XML"),
        ("<Settings/>", "begins with <Settings>"),
        ("<Parameters><Other/></Parameters>", "<Other>: is none of High_Level_IO_Library"),
        ("<Parameters/>", "sets nothing"),
        (H5TUNER.replace("sieve_buf_size", "sieve_size"), "<sieve_size>: is no parameter"),
        (H5TUNER.replace("524288", "512K x"), "'512K x' is no whole number"),
        (H5TUNER.replace('FileName="rst"', 'File="rst"'), "no attribute 'File'"),
        (H5TUNER.replace("<cb_nodes>4", "<cb_nodes>-4"), "cb_nodes: -4 is out of its range"),
    ],
)
def test_bad_xml_is_refused_in_one_line(text: str, line: str) -> None:
    with pytest.raises(UsageError, match=re.escape(line)):
        xml.read("config.xml", text)


def test_the_command_lists_what_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "knobs", "--csv", "--layers", "lustre"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("knob,here,route")
    assert all("not tried here" in line for line in lines[1:])
    assert main(["list", "knobs", "no_such"]) == 2
    assert "no knob 'no_such'" in capsys.readouterr().err
