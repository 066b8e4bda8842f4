"""What is worked out for all ranks at once is what is worked out rank by rank; what has no value, that way says so."""

from __future__ import annotations

import pytest
from fathom.codegen.generate.language import expression as ex
from fathom.codegen.generate.language.mistake import Mistake, Place
from fathom.codegen.generate.language.over_ranks import OverRanks, Unsure
from hypothesis import given
from hypothesis import strategies as st

HERE = Place("t.iog", 1, 1, "")
RANK, NPROCS = ex.Name(HERE, "rank"), ex.Name(HERE, "nprocs")
LEAVES = st.one_of(
    st.sampled_from([RANK, NPROCS, ex.Name(HERE, "n"), ex.Name(HERE, "m")]),
    st.sampled_from([0, 1, 2, 3, 7, 64, 2**40, 2**61, 2**63 - 1]).map(lambda n: ex.Number(HERE, n)),
)


def grown(inner: st.SearchStrategy[ex.Expression]) -> st.SearchStrategy[ex.Expression]:
    two = st.tuples(inner, inner)
    return st.one_of(
        st.builds(lambda sign, a: ex.Binary(HERE, sign, *a), st.sampled_from("+-*/%"), two),
        st.builds(lambda f, a: ex.Call(HERE, f, a), st.sampled_from(["min", "max", "div"]), two),
        st.builds(lambda f, a: ex.Call(HERE, f, (a,)), st.sampled_from(["before", "total"]), inner),
        inner.map(lambda one: ex.Negative(HERE, one)),
    )


EXPRESSIONS = st.recursive(LEAVES, grown, max_leaves=8)


@given(EXPRESSIONS, EXPRESSIONS, st.integers(1, 9))
def test_as_rank_by_rank(expression: ex.Expression, n: ex.Expression, nprocs: int) -> None:
    named = {"n": n, "m": ex.Binary(HERE, "+", RANK, ex.Number(HERE, 3))}
    try:
        at_once = OverRanks(nprocs, named).of(expression).tolist()
    except Unsure:
        return
    assert at_once == [ex.Values(nprocs, named).of(expression, rank) for rank in range(nprocs)]


@pytest.mark.parametrize(
    "expression",
    [
        ex.Binary(HERE, "/", NPROCS, RANK),
        ex.Binary(HERE, "/", NPROCS, ex.Number(HERE, 3)),
        ex.Binary(HERE, "*", ex.Number(HERE, 2**62), NPROCS),
        ex.Name(HERE, "nobody"),
        ex.Name(HERE, "itself"),
    ],
)
def test_what_has_no_value_is_left_to_the_ranks(expression: ex.Expression) -> None:
    named = {"itself": ex.Name(HERE, "itself")}
    with pytest.raises(Unsure):
        OverRanks(4, named).of(expression)
    with pytest.raises(Mistake):
        [ex.Values(4, named).of(expression, rank) for rank in range(4)]
