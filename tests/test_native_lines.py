"""Calls that libraries make for a program are given its own lines; and who called, where that is asked for."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from harness import exports, needs, paths, tables

ROUNDS = 300

#: What follows `!` is the statement's row, and the call of the C library that it makes.
FORTRAN = """program waves
    implicit none
    real(8) :: field(100000) = 1.0
    open(unit=10, file='a', form='unformatted', access='stream') ! OPEN open
    write(10) field                                              ! WRITE_unformatted write
    close(10)                                                    ! CLOSE close
    call report(field)
contains
    subroutine report(values)
        real(8), intent(in) :: values(:)
        real(8) :: back(3)
        open(unit=11, file='b')                                  ! OPEN open
        write(11, *) values(1:3)                                 ! WRITE_formatted none
        flush(11)                                                ! FLUSH write
        rewind(11)
        read(11, *) back                                         ! READ_formatted read
        close(11)                                                ! CLOSE close
    end subroutine report
end program waves
"""

CPP = """#include <fstream>
#include <string>
#include <thread>
#include <vector>

template <typename T> void save(std::ofstream &out, const std::vector<T> &values)
{
    out.write(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(T)); // writev
    out << std::endl;                                                                    // write
    values.empty() ? out << "end" : out << "more";
    if (!out)
        throw 1;
}

int main()
{
    std::ofstream out("a");                                                              // fopen
    std::vector<double> values(100000, 1.0);
    out << "head";
    std::thread([&] { save(out, values); }).join();
    out.close();                                                                         // fclose
    std::string line;
    std::ifstream in("a");                                                               // fopen
    while (std::getline(in, line))                                                       // read
        continue;
    in.close();                                                                          // fclose
}
"""

LANGUAGES = {"f90": (FORTRAN, "gfortran", "!"), "cpp": (CPP, "g++", "//")}

STATIC = {"f90": "-static-libgfortran", "cpp": "-static-libstdc++"}


def marked(source: str, sign: str, of_libc: bool) -> set[tuple[str, int]]:
    """Calls, and the lines that make them. `of_libc`: a statement is not known, only what it calls."""
    words = {
        number: re.findall(r"\w+", line.rpartition(f"{sign} ")[2])
        for number, line in enumerate(source.splitlines(), 1)
        if f"{sign} " in line
    }
    chosen = {number: of[-1] if of_libc else of[0] for number, of in words.items()}
    return {(op, number) for number, op in chosen.items() if op != "none"}


@pytest.mark.some(2)
#: Run-time libraries that are part of the program look like the program: only its callers tell.
@pytest.mark.parametrize("linked", [False, True], ids=["shared", "linked"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_statement_has_its_line(tmp_path: Path, language: str, linked: bool) -> None:
    source, compiler, sign = LANGUAGES[language]
    needs.require([compiler])
    written = tmp_path / f"waves.{language}"
    written.write_text(source)
    options = [STATIC[language]] if linked else []
    program = tmp_path / "waves"
    subprocess.run(
        [compiler, "-g", "-O2", *options, "-o", program, written, "-pthread"], check=True
    )
    paths_too = ["--paths"] if linked else []
    connection = tables.opened(exports.record(tmp_path, *paths_too, "--", program))
    found = tables.ask(
        connection,
        f"select distinct op, line from calls join files using (file) join sites as s using (site)"
        f" where path in ('{tmp_path}/a', '{tmp_path}/b') and ends_with(s.source, '{written.name}')"
        " and op not in ('fstat', 'lseek', 'lseek64', 'ftruncate', 'ftruncate64', 'stat')",
    )
    seen = {(op.removesuffix("64"), line) for op, line in found}
    calls = marked(source, sign, of_libc=linked)
    assert len(calls) >= 7 and seen >= calls
    unknown = f"""select count(*) from calls as c join files as f using (file) left join calls as up on up.id = c.parent
        left join sites as s on s.site = coalesce(c.site, up.site)
        where f.path = '{tmp_path}/a' and s.line is null and c.op in ('read', 'write', 'writev')"""
    assert tables.ask(connection, unknown) == [[0]]


def test_each_call_has_its_caller(tmp_path: Path) -> None:
    """The program writes at the offset that is the line which called the one function that writes."""
    program = paths.PROGRAMS / "programs/lines"
    run = exports.record(tmp_path, "--paths", "--", program, tmp_path / "out", ROUNDS)
    [[calls, lines, wrong]] = tables.ask(
        tables.opened(run),
        """
        select count(*), count(distinct around.frame_line),
            count(*) filter (around.frame_line is distinct from file_offset)
        from calls join sites as here using (site) left join sites as around on around.site = here.caller
        where op like 'pwrite%'
        """,
    )
    assert calls > 20_000
    assert (lines, wrong) == (6, 0)
