"""Names that the code would misread: keywords, names of its own."""

from fathom.generate.language import statements as st
from fathom.generate.language.mistake import Mistake

_C = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while""".split()
_CXX = """bool catch class delete explicit false friend mutable namespace new operator private protected public
template this throw true try typename using virtual""".split()
#: What the generated functions call their own.
_OURS = """rank nprocs comm path error file box boxes transfers dimensions variables attributes min max div before
total errno stdin stdout stderr job me ranks transfer variable memory length status dimension mpi well failed
elements check copy hints info define sum_before sum_of_all write_file update_file read_file wrong repack contiguous
scattered walk""".split()
TAKEN = frozenset(_C + _CXX + _OURS)
LONGEST = 48  # so that Fortran's 63 letters suffice for what is made of it


def check(name: st.Word, what: str) -> None:
    """Mistake where a name cannot be one in the code."""
    if name.text.lower() in TAKEN or name.text.startswith(("MPI_", "len_")):
        raise Mistake(
            name.place,
            f"a {what} cannot be called '{name.text}'",
            "the code needs that name; choose another",
        )
    if len(name.text) > LONGEST:
        raise Mistake(name.place, f"a name of {len(name.text)} letters", f"use {LONGEST} at most")
