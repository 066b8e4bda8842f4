"""Runs that are damaged, odd or another's, places that are full or closed: one line says so, and nothing is left."""

from __future__ import annotations

import errno
import os
import pty
import shutil
import signal
import stat
import struct
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from forward.wire import crc32c
from harness import needs, paths
from harness.poor import FULL, USER

PROGRAM = """
import os, sys
fd = os.open("data", os.O_CREAT | os.O_RDWR, 0o4755)
for size in range(1, 21):
    for number in range(15):
        os.pwrite(fd, bytes(size), number * size)
os.close(fd)
for name in sys.argv[1:]:
    fd = os.open(name, os.O_CREAT | os.O_RDWR, 0o644)
    os.pwrite(fd, bytes(100), 0)
    os.close(fd)
"""
#: Colours, a return, C1's own escape, a line that runs backwards.
HOSTILE = "a\x1b[31m\r\x9b2J\u202etxt"


def fathom(
    *words: object, cwd: Path, as_: Sequence[str] = (), umask: int = 0o022
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*as_, str(paths.FATHOM), *map(str, words)], cwd=cwd, umask=umask,
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def record(place: Path, *names: str, level: str = "call") -> None:
    words = ("run", "--no-show", "--level", level, "-o", "run", "--", "python3", "-c", PROGRAM)
    done = fathom(*words, *names, cwd=place)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that has tables."""
    place = tmp_path_factory.mktemp("known")
    record(place)
    assert fathom("pack", "run", cwd=place).returncode == 0
    return place


@pytest.fixture
def place(known: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    shutil.copytree(known / "run.fathom", tmp_path / "run.fathom")
    return tmp_path


def stream(place: Path) -> Path:
    return max(place.glob("run.fathom/streams/*/*.fts"), key=lambda path: path.stat().st_size)


def renumbered(place: Path, first: int) -> None:
    """The first call of the last chunk has this number, and the checksum fits; `fathom pack` reads it."""
    content = bytearray(stream(place).read_bytes())
    begin = content.rindex(b"FATHOMCK")
    (header,) = struct.unpack_from("<H", content, begin + 10)
    (rows,) = struct.unpack_from("<I", content, begin + 128)
    struct.pack_into("<Q", content, begin + 48, first)
    struct.pack_into("<I", content, begin + 132, 0)
    checksum = crc32c(bytes(content[begin : begin + header + rows]))
    struct.pack_into("<I", content, begin + 132, checksum)
    stream(place).write_bytes(content)
    shutil.rmtree(place / "run.fathom" / "tables")
    assert fathom("pack", "run", cwd=place).returncode == 0


def with_record(place: Path, record: bytes) -> None:
    """The last chunk has this record more, and the checksum fits; `fathom pack` reads it."""
    content = bytearray(stream(place).read_bytes())
    begin = content.rindex(b"FATHOMCK")
    (header,) = struct.unpack_from("<H", content, begin + 10)
    (rows,) = struct.unpack_from("<I", content, begin + 128)
    content[begin + header + rows : begin + header + rows] = record
    struct.pack_into("<II", content, begin + 128, rows + len(record), 0)
    checksum = crc32c(bytes(content[begin : begin + header + rows + len(record)]))
    struct.pack_into("<I", content, begin + 132, checksum)
    stream(place).write_bytes(content)
    shutil.rmtree(place / "run.fathom" / "tables")
    assert fathom("pack", "run", cwd=place).returncode == 0


def damaged(place: Path) -> None:
    """One byte in the midst of what was recorded is another, and tables were made of the rest."""
    content = bytearray(stream(place).read_bytes())
    content[len(content) // 2] ^= 0xFF
    stream(place).write_bytes(content)
    shutil.rmtree(place / "run.fathom" / "tables")
    assert fathom("pack", "run", cwd=place).returncode == 0


ANSWERS = (
    ("query", "run", "--sql", "from runs"),
    ("query", "run", "throughput"),
    ("patterns", "run"),
    ("show", "run", "--findings"),
    ("show", "run", "--by", "file"),
    ("annotate", "run"),
    ("export", "run", "--to", "csv", "-o", "out"),
    ("export", "run", "--to", "otf2", "-o", "out"),
    ("generate", "--from", "run", "-o", "out"),
    ("replay", "run", "--emit-c", "out.c"),
)


@pytest.mark.some(3)
@pytest.mark.parametrize("words", ANSWERS, ids=" ".join)
def test_each_answer_of_a_damaged_run_says_so(place: Path, words: tuple[str, ...]) -> None:
    """Also where nothing is packed any more."""
    damaged(place)
    said = fathom(*words, cwd=place).stderr
    assert "fathom: run: damage: " in said and "answers are of the rest" in said, said


def test_calls_beyond_all_numbers_are_damage(place: Path) -> None:
    """Of that chunk alone: the run's other ones are read."""
    renumbered(place, 1 << 40)
    asked = fathom("query", "run", "--sql", "select count(*) > 0 as some from files", cwd=place)
    assert asked.returncode == 0 and "True" in asked.stdout
    assert "the number of a call is too large" in fathom("show", "run", "--all", cwd=place).stdout


#: A mark at the end of time; an operation, a file, and a call of these a hundred years later.
FAR = {
    "mark": "871d ffffffffffffffffff01 06 64616d616765 01 78 ffffffffffffffffff01",
    "call": "8122 8407 05 706f736978 06 707772697465 05 7772697465 0b 6f66667365742c73697a65 00"
    "821b 8507 01 00 00 08 2f746d702f7a7a7a 09 a48302 01 02 e807 0a 06 02 00 00"
    "80 64 03 8407 8507 00 00 03 0a 0a 808090d897efe0a58301 01",
}


@pytest.mark.parametrize("what", FAR)
def test_what_lies_far_ahead_costs_a_report_no_memory(tmp_path: Path, what: str) -> None:
    """Of a short run, whose pictures have narrow columns: so many until then would take gigabytes."""
    words = ("run", "--no-show", "-o", "run", "--", "cat", "/etc/passwd")
    assert fathom(*words, cwd=tmp_path).returncode == 0
    assert fathom("pack", "run", cwd=tmp_path).returncode == 0
    with_record(tmp_path, bytes.fromhex(FAR[what]))
    little = ("bash", "-c", 'ulimit -v 4000000; exec "$@"', "-")
    done = fathom("report", "run", "-o", "out.html", cwd=tmp_path, as_=little)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    asked = {
        "mark": "from marks where kind = 'damage'",
        "call": "from files where path = '/tmp/zzz'",
    }
    count = f"select count(*) as n {asked[what]}"
    assert fathom("query", "run", "--csv", "--sql", count, cwd=tmp_path).stdout == "n\n1\n"


def test_a_call_a_hundred_years_later_takes_no_more_memory(place: Path) -> None:
    """As predicted, 2^62 ticks after the one before it."""
    with_record(place, bytes.fromhex("00 808080808080808040 05"))
    little = ("bash", "-c", 'ulimit -v 4000000; exec "$@"', "-")
    done = fathom("report", "run", "-o", "out.html", cwd=place, as_=little)
    assert done.returncode == 0 and not done.stderr, done.stderr
    shown = fathom("show", "run", "--all", cwd=place, as_=little)
    assert shown.returncode == 0 and not shown.stderr, shown.stderr
    assert "ran 1" in shown.stdout and "-1" not in shown.stdout.split("cost of tracing")[1]


def test_one_in_a_file_says_so_too(place: Path) -> None:
    damaged(place)
    assert fathom("pack", "run", "--one-file", "run.zip", cwd=place).returncode == 0
    said = fathom("query", "run.zip", "--sql", "from runs", cwd=place).stderr
    assert "fathom: run.zip: damage: " in said and "answers are of the rest" in said


@pytest.mark.parametrize("how", ["empty", "renamed"])
def test_a_run_of_which_nothing_is_left_says_that(place: Path, how: str) -> None:
    """And does not blame the program."""
    shutil.rmtree(place / "run.fathom" / "tables")
    for path in place.glob("run.fathom/streams/*/*.fts"):
        path.write_bytes(b"") if how == "empty" else path.rename(path.with_name("x.fts"))
    text = fathom("show", "run", cwd=place).stdout
    assert "what it recorded is damaged or missing" in text and "doctor" not in text
    assert "1970" not in text


MADE = {
    "report": ("report", "run", "-o", "{out}"),
    "csv": ("export", "run", "--to", "csv", "-o", "{out}"),
    "parquet": ("export", "run", "--to", "parquet", "-o", "{out}"),
    "perfetto": ("export", "run", "--to", "perfetto", "-o", "{out}"),
    "one file": ("pack", "run", "--one-file", "{out}"),
    "C": ("replay", "run", "--emit-c", "{out}"),
    "picture": ("show", "run", "--svg", "{out}"),
    "limits": ("check", "run", "--write", "{out}"),
}


@pytest.mark.some(3)
@pytest.mark.parametrize("what", MADE)
def test_files_have_the_mode_that_the_user_wants(place: Path, what: str) -> None:
    for umask in (0o077, 0o002):
        out = place / f"{umask}.c"
        done = fathom(*(word.format(out=out) for word in MADE[what]), cwd=place, umask=umask)
        assert done.returncode == 0, done.stderr
        assert stat.S_IMODE(out.stat().st_mode) == 0o666 & ~umask


@pytest.mark.some(3)
@pytest.mark.parametrize("what", [what for what in MADE if what != "limits"])
def test_what_finds_no_room_leaves_nothing(place: Path, what: str) -> None:
    (place / "there").mkdir()
    out = place / "there" / "out.c"
    words = [word.format(out=out) for word in MADE[what]]
    done = fathom(*words, cwd=place, as_=FULL)
    assert done.returncode in (2, 3), done.stdout
    last = done.stderr.splitlines()[-1]
    assert str(out) in last and "File too large" in last and "None" not in last
    assert list((place / "there").iterdir()) == []


def test_code_that_finds_no_room_is_one_line(place: Path) -> None:
    done = fathom("generate", "--from", "run", "-o", "there", cwd=place, as_=FULL)
    assert done.returncode == 3
    assert next(line for line in done.stderr.splitlines() if "File too large" in line).startswith(
        "fathom: there/"
    )
    assert not [path for path in (place / "there").rglob("*") if path.name.startswith(".")]


def test_a_mode_of_four_digits_is_octal(place: Path) -> None:
    assert fathom("replay", "run", "--emit-c", "again.c", cwd=place).returncode == 0
    assert ", 04755)" in (place / "again.c").read_text()


def test_tables_that_lead_nowhere_are_made_again(place: Path) -> None:
    tables = place / "run.fathom" / "tables"
    right = fathom("show", "run", cwd=place).stdout
    shutil.rmtree(tables)
    tables.symlink_to("nowhere")
    assert fathom("show", "run", cwd=place).stdout == right
    assert not (place / "run.fathom" / "nowhere").exists()


def test_tables_that_are_a_file_are_one_line(place: Path) -> None:
    tables = place / "run.fathom" / "tables"
    shutil.rmtree(tables)
    tables.write_text("precious")
    done = fathom("show", "run", cwd=place)
    assert done.returncode == 3 and done.stderr.count("\n") == 1 and str(tables) in done.stderr
    assert tables.read_text() == "precious"
    assert [path.name for path in place.glob("run.fathom/tables*")] == ["tables"]


@pytest.mark.parametrize("name", ["run", "it's $(touch pwned);`touch pwned`\x1b[31m"])
def test_what_is_advised_for_a_damaged_table_mends_it(place: Path, name: str) -> None:
    """As a shell takes it, whatever the sender called the run."""
    run = (place / "run.fathom").rename(place / f"{name}.fathom")
    right = fathom("show", name, cwd=place).stdout
    shutil.rmtree(run / "tables" / "answers", ignore_errors=True)
    os.truncate(run / "tables" / "files.parquet", 100)
    done = fathom("query", name, "--sql", "from files", cwd=place)
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    advised = done.stderr.rpartition("fathom ")[2]
    subprocess.run(["bash", "-c", f"{paths.FATHOM} {advised}"], cwd=place, check=True)
    assert fathom("show", name, cwd=place).stdout == right
    assert not (place / "pwned").exists()


def test_a_doctor_is_advised_for_a_name_as_a_shell_takes_it(tmp_path: Path) -> None:
    """Of a static program nothing is recorded."""
    program = tmp_path / "a b;c"
    source = subprocess.run(
        ["cc", "-static", "-x", "c", "-o", str(program), "-"],
        input=b"int main(void) {}",
        check=False,
    )
    if source.returncode:
        pytest.skip("no static libc")
    fathom("run", "--no-show", "-o", "run", "--", program, cwd=tmp_path)
    text = " ".join(fathom("show", "run", cwd=tmp_path).stdout.split())
    assert f"fathom doctor '{program}' says which" in text


def refused(place: Path, *words: str) -> str:
    """What one without rights is told, in one line."""
    needs.require(["setpriv"] if USER else [])
    done = fathom(*words, cwd=place, as_=USER)
    assert done.returncode == 3 and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


@pytest.mark.parametrize("closed", ["run.fathom", "run.fathom/run.json"])
def test_a_run_that_may_not_be_read_is_one_line(place: Path, closed: str) -> None:
    (place / closed).chmod(0)
    assert "Permission denied" in refused(place, "show", "run")
    (place / closed).chmod(0o755)


def test_tables_are_read_where_streams_may_not_be(place: Path) -> None:
    needs.require(["setpriv"] if USER else [])
    node = stream(place).parent
    node.chmod(0)
    done = fathom("show", "run", "--by", "file", cwd=place, as_=USER)
    node.chmod(0o755)
    assert done.returncode == 0 and "data" in done.stdout, done.stderr


def test_who_may_not_pack_is_told_who_does(place: Path) -> None:
    shutil.rmtree(place / "run.fathom" / "tables")
    (place / "run.fathom").chmod(0o555)
    message = refused(place, "show", "run")
    assert "its owner packs it" in message and "fathom pack" in message


def test_a_run_that_cannot_be_made_there_says_why(place: Path) -> None:
    (place / "closed").mkdir(mode=0o555)
    needs.require(["setpriv"] if USER else [])
    done = fathom("run", "-o", "closed/x", "--", "true", cwd=place, as_=USER)
    assert done.returncode == 125 and done.stderr.count("\n") == 1
    assert "closed/x.fathom: Permission denied" in done.stderr


def test_packing_beside_packing_is_no_error(place: Path) -> None:
    """One that makes all anew, one that has nothing to do and one that makes tiles, at once."""
    words = (("pack", "run"), ("pack", "--force", "run"), ("view", "run", "--prepare"))
    each = [
        subprocess.Popen([paths.FATHOM, *one], cwd=place, stderr=subprocess.PIPE, text=True)
        for one in words
    ]
    ends = [(one.communicate(timeout=300)[1], one.returncode) for one in each]
    assert [status for _, status in ends] == [0] * len(words), ends


def test_equal_runs_give_equal_answers(place: Path) -> None:
    """Twenty sizes are equally frequent: which is named does not change from one look to the next."""
    texts = set()
    for _ in range(3):
        shutil.rmtree(place / "run.fathom" / "tables")
        texts.add(
            "".join(
                fathom(*words, cwd=place).stdout
                for words in (("show", "run", "--all"), ("patterns", "run"))
            )
        )
    assert len(texts) == 1


@pytest.mark.parametrize("when", [20, 60, 100, 140])
def test_an_interrupt_while_it_packs_costs_nothing(place: Path, when: int) -> None:
    """What is left of it, the next one removes."""
    needs.require(["strace"])
    right = fathom("show", "run", "--all", cwd=place).stdout
    shutil.rmtree(place / "run.fathom" / "tables")
    inject = f"inject=openat,write,fsync,rename,renameat2:signal=SIGINT:when={when}"
    words = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", inject, paths.FATHOM, "pack", "run")
    done = subprocess.run(list(map(str, words)), cwd=place, capture_output=True, check=False)
    assert done.returncode in (0, 130, -signal.SIGINT) and b"Traceback" not in done.stderr
    assert fathom("show", "run", "--all", cwd=place).stdout == right
    assert not list(place.glob("run.fathom/tables.tmp*"))


def on_a_terminal(*words: object, cwd: Path) -> str:
    """All that a terminal is sent."""
    here, there = pty.openpty()
    with subprocess.Popen(
        [str(paths.FATHOM), *map(str, words)], cwd=cwd, stdout=there, stderr=there, stdin=there
    ):
        os.close(there)
        sent = b""
        try:
            while piece := os.read(here, 1 << 16):
                sent += piece
        except OSError as error:
            if error.errno != errno.EIO:  # so it says that its other end was closed
                raise
    os.close(here)
    return sent.decode()


@pytest.mark.some(4)
@pytest.mark.parametrize(
    "words",
    [
        ("show", "run", "--by", "file", "--csv"),
        ("query", "run", "--csv", "--sql", "from files"),
        ("query", "run", "--json", "--sql", "from files"),
        ("landscape", "run", "--csv"),
        ("generate", "--from", "run", "-o", "out"),
        ("patterns", "run"),
        ("run", "--no-show", "-o", "x", "--", HOSTILE),
        ("run", "--no-show", "-o", "named", "--", "true"),
        ("report", "named", "-o", "out.html"),
        ("view", "named", "--prepare"),
        ("show", "named", "--svg", f"{HOSTILE}.svg"),
        ("show", "run", "--next"),
        ("show", "run", "--by", HOSTILE),
        ("show", HOSTILE),
        ("pack", HOSTILE),
        (HOSTILE,),
    ],
    ids=lambda words: " ".join(words).encode("unicode_escape").decode(),
)
def test_no_name_gives_a_terminal_orders(tmp_path: Path, words: tuple[str, ...]) -> None:
    record(
        tmp_path, HOSTILE, level="file" if "--next" in words else "call"
    )  # else it asks for no run
    if "named" in words:
        (tmp_path / "run.fathom").rename(tmp_path / f"{HOSTILE}.fathom")
    sent = on_a_terminal(*(HOSTILE if one == "named" else one for one in words), cwd=tmp_path)
    assert sent
    assert [one for one in ("\x1b[31m", "\r\x9b", "\x9b", "\u202e") if one in sent] == []


def test_no_name_is_raw_in_text_that_is_written(tmp_path: Path) -> None:
    """A comment that turns around stops a compiler, too."""
    record(tmp_path, HOSTILE)
    (tmp_path / "run.fathom").rename(tmp_path / f"{HOSTILE}.fathom")
    files = ("--files", "*txt")
    for words in (
        ("generate", "--from", HOSTILE, "-o", "out"),
        ("replay", HOSTILE, "--emit-c", "out/x.c"),
    ):
        done = fathom(*words, *files, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    lines = [one for path in (tmp_path / "out").iterdir() for one in path.read_text().split("\n")]
    assert [one for one in lines if not one.replace("\t", "").isprintable()] == []
