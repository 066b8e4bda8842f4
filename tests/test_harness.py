"""The test bench itself: the oracle finds every kind of difference, a test file's mistakes are told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from harness import case, oracle, strace

TRACE = """\
7 100.000001 execve("/bin/prog", ["prog"], 0x7ffd /* 3 vars */) = 0 <0.0001>
7 100.050000 clone3({flags=CLONE_VM|CLONE_FILES|CLONE_THREAD}, 88) = 8 <0.0001>
7 100.100000 openat(AT_FDCWD</home>, "f", O_RDWR|O_CREAT, 0644) = 3</home/f> <0.000010>
 > /usr/lib/x86_64-linux-gnu/libc.so.6(__open64+0x51) [0xf8011]
 > /opt/libfathom.so(wrap_open+0x20) [0x1000]
 > /bin/prog(main+0x10) [0x1100]
7 100.200000 write(3</home/f>, ""..., 10 <unfinished ...>
8 100.200100 pwrite64(3</home/f>, ""..., 5, 70) = 5 <0.000010>
 > /usr/lib/x86_64-linux-gnu/libc.so.6(pwrite64+0x12) [0xf8011]
 > /bin/prog(work+0x10) [0x1200]
7 100.200200 <... write resumed>) = 10 <0.000200>
 > /usr/lib/x86_64-linux-gnu/libc.so.6(write+0x12) [0xf8011]
 > /bin/prog(main+0x20) [0x1110]
7 100.300000 write(3</home/f>, ""..., 4) = 4 <0.000010>
 > /usr/lib/x86_64-linux-gnu/libc.so.6(write+0x12) [0xf8011]
 > /usr/lib/x86_64-linux-gnu/libc.so.6(_IO_file_write+0x2d) [0x76000]
 > /bin/prog(main+0x30) [0x1120]
7 100.400000 pwrite64(9</opt/stream>, ""..., 4096, 0) = 4096 <0.000010>
 > /opt/libfathom.so(seal+0x20) [0x1000]
 > /bin/prog(main+0x30) [0x1120]
7 100.500000 write(3</home/f>, ""..., 6) = -1 ENOSPC (No space left on device) <0.000010>
 > /usr/lib/x86_64-linux-gnu/libc.so.6(write+0x12) [0xf8011]
 > /bin/prog(main+0x40) [0x1130]
"""

OPS: dict[str, Any] = {
    "open": {"syscalls": ["open", "openat"], "symbols": ["open", "open64"]},
    "write": {"syscalls": ["write"], "symbols": ["write"]},
    "pwrite": {"syscalls": ["pwrite64"], "symbols": ["pwrite", "pwrite64"]},
}


def row(op: str, thread: int, **values: Any) -> dict[str, Any]:
    empty = dict.fromkeys(
        ("size", "file_offset", "offset_from", "bytes", "result", "name", "paths")
    )
    fixed = {"op": op, "thread": thread, "pid": 7, "error": 0, "state": "done", "path": "/home/f"}
    return {**empty, **fixed, **values}


def rows() -> list[dict[str, Any]]:
    tracked = {"offset_from": "tracked"}
    return [
        row("open", 7, result=3),
        row("write", 7, size=10, file_offset=0, bytes=10, **tracked),
        row("write", 7, size=6, file_offset=14, bytes=-1, error=28, **tracked),
        row("pwrite", 8, size=5, file_offset=70, bytes=5, offset_from="given"),
    ]


@pytest.fixture
def wanted(tmp_path: Path) -> list[oracle.Expected]:
    path = tmp_path / "strace.txt"
    path.write_text(TRACE)
    return oracle.expected(strace.parse(path), OPS)


def test_oracle_agrees(wanted: list[oracle.Expected]) -> None:
    """libc's own write (of stdio) and Fathom's are no calls of the program."""
    assert [e.call.name for e in wanted] == ["openat", "write", "pwrite64", "write"]
    assert oracle.differences(wanted, rows(), OPS) == []


@pytest.mark.parametrize(
    ("index", "change", "says"),
    [
        (0, {"result": 4}, "result 4, strace 3"),
        (0, {"path": "/home/g"}, "file /home/g, strace /home/f"),
        (1, {"size": 11}, "size 11, strace 10"),
        (1, {"file_offset": 8}, "tracked offset 8, strace 0"),
        (1, {"bytes": 9}, "result 9, strace 10"),
        (2, {"error": 5}, "errno 5, strace ENOSPC"),
        (3, {"file_offset": 71}, "offset 71, strace 70"),
        (3, {"op": "write"}, "Fathom only: write"),
        (3, {"thread": 7}, "Fathom only: pwrite"),
    ],
)
def test_oracle_finds(
    wanted: list[oracle.Expected], index: int, change: dict[str, Any], says: str
) -> None:
    changed = rows()
    changed[index].update(change)
    assert says in "\n".join(oracle.differences(wanted, changed, OPS))


@pytest.mark.parametrize("index", range(4))
def test_oracle_finds_a_missing_row(wanted: list[oracle.Expected], index: int) -> None:
    remaining = rows()
    del remaining[index]
    lines = oracle.differences(wanted, remaining, OPS)
    assert len(lines) == 1 and "strace only" in lines[0]


def test_a_signal_in_the_middle_of_a_call(tmp_path: Path) -> None:
    path = tmp_path / "strace.txt"
    path.write_text(
        '7 100.0 read(3</f>, ""..., 5) = ? ERESTARTSYS (To be restarted) <0.1>\n'
        "7 100.1 --- SIGALRM {si_signo=SIGALRM} ---\n"
        '7 100.2 write(4</g>, ""..., 1) = 1 <0.1>\n'
        "7 100.3 rt_sigreturn({mask=[]}) = 0 <0.1>\n"
        '7 100.4 read(3</f>, ""..., 5) = 5 <0.1>\n'
    )
    calls = sorted(strace.parse(path), key=lambda call: call.when)
    assert [(call.name, call.when, call.result) for call in calls] == [
        ("read", 100.0, 5),
        ("write", 100.2, 1),
    ]


def test_a_child_of_vfork_speaks_before_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "strace.txt"
    path.write_text(
        '7 100.0 execve("/bin/prog", ["prog"], 0x7ffd /* 3 vars */) = 0 <0.0001>\n'
        "7 100.1 vfork( <unfinished ...>\n"
        "8 100.2 close(3</f>) = 0 <0.1>\n"
        '8 100.3 execve("/bin/other", ["other"], 0x7ffd /* 3 vars */ <unfinished ...>\n'
        "7 100.4 <... vfork resumed>) = 8 <0.1>\n"
        "8 100.5 <... execve resumed>) = 0 <0.1>\n"
        "8 100.6 close(4</f>) = 0 <0.1>\n"
    )
    calls = [(call.pid, call.name, call.image) for call in strace.parse(path)]
    assert (7, "vfork", "/bin/prog") in calls
    assert [image for pid, name, image in calls if name == "close"] == ["/bin/prog", "/bin/other"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('run = "true"\nno_such = 1\nsame = true', "unknown key no_such"),
        ("same = true", "run: missing"),
        ('run = "fathom run -- true"', "checks nothing"),
        ("run = 1 2", "line 1"),
    ],
)
def test_mistakes_in_a_test_file(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "x.toml"
    path.write_text(text)
    with pytest.raises(case.CaseError, match=says):
        case.load(path)
