"""A line behind which words are lost ends where a part of its sentence does."""

import pytest
from fathom.text.tables import CUT, wrapped


@pytest.mark.parametrize(
    ("first", "rest"),
    [
        ("sync once, when all is written", " (a database: one transaction)"),
        ("look what else runs on the node (top)", ", and leave it processors"),
        ("open once, keep the descriptor until the last use", "; or empty it"),
        ("one, and then very many words without a part that", " ends here"),
    ],
)
def test_a_cut_line_is_a_whole_part(first: str, rest: str) -> None:
    assert wrapped(first + rest, 53, 1) == [first + CUT]
    assert " ".join(wrapped(first + rest, 53)) == first + rest
