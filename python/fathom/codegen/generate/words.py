"""Names that the code would misread: keywords, names of its own."""

from fathom.codegen.generate.language import statements as st
from fathom.codegen.generate.language.mistake import Mistake

_C = """auto break case char const continue default do double else enum extern float for goto if inline int long
register restrict return short signed sizeof static struct switch typedef union unsigned void volatile while""".split()
_CXX = """bool catch class delete explicit false friend mutable namespace new operator private protected public
template this throw true try typename using virtual""".split()
#: What the generated functions call their own.
_OURS = """rank nprocs comm path error file box boxes transfers dimensions variables attributes min max div before
total errno stdin stdout stderr job me ranks transfer variable memory length status dimension mpi well failed
elements check copy hints info define sum_before sum_of_all write_file update_file read_file wrong repack contiguous
scattered walk""".split()
#: What a type shares with procedures in Fortran.
_OF_TYPES = """most next records hints type_of value_of place_of rows_of access_list create_set put_attribute put_text
write_one read_one sum_before sum_of_all contiguous_copy real integer logical character""".split()
_MACROS = "errno stdin stdout stderr".split()
TAKEN = frozenset(_C + _CXX + _OURS)
LONGEST = 48  # so that Fortran's 63 letters suffice for what is made of it


def _is_taken(name: str, what: str) -> bool:
    """Members of a type have few rivals."""
    lower = name.lower()
    if what == "member":
        return lower in (*_C, *_CXX, *_MACROS) or name.startswith(("MPI_", "_"))
    if what == "type" and (lower in _OF_TYPES or lower.endswith("_type") or lower[0] == "_"):
        return True
    return lower in TAKEN or name.startswith(("MPI_", "len_"))


def check(name: st.Word, what: str) -> None:
    """Mistake where a name cannot be one in the code."""
    if _is_taken(name.text, what):
        raise Mistake(
            name.place,
            f"a {what} cannot be called '{name.text}'",
            "the code needs that name; choose another",
        )
    if len(name.text) > LONGEST:
        raise Mistake(name.place, f"a name of {len(name.text)} letters", f"use {LONGEST} at most")
