"""The language of queries: what is said is read back, and nonsense gets its place and the choices."""

import random
import re
import string

import pytest
from fathom.analysis.latency.language import ALSO, GRAMMAR, Form, Numbers, forms, parse
from fathom.errors import UsageError

ATOMS = ["latency", "breakdown", "operation", "collective", "inclusive", "exclusive", "list", "max", "min", "avg",
         "throughput", "thru.", "energy", "call", "[-]", "-", "[0-3]", "[1,5-9]", "7", "3,4", "[", "]", "[]", "[3-1]",
         "[a]", "10", "9.5", "-5", "1e9", "nan", "[1-", "é", "٣", "\x1b[2J", "99999999999999999", ","]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("Latency Breakdown Inclusive [0-1] [1-10]", "latency breakdown inclusive 0-1 1-10"),
        (
            "LATENCY OPERATION LIST [0-4] [1-10] [-] [1-3]",
            "latency operation list 0-4 1-10 all 1-3",
        ),
        ("latency operation max 0-4 1-10 - 1-3", "latency operation max 0-4 1-10 all 1-3"),
        ("latency operation avg", "latency operation avg all all all all"),
        ("thru. [2]", "throughput 2 all all all"),
        ("energy 11.5 8 all [1-10,15]", "energy 11.5 8 all 1-10,15 all all"),
        ("  call   [ 1 , 3 - 5 ]  ", "call 1,3-5 all all all"),
    ],
)
def test_queries_of_the_thesis(text: str, means: str) -> None:
    assert str(parse(text)) == means
    assert str(parse(means)) == means


@pytest.mark.parametrize(
    ("text", "says", "mark"),
    [
        ("", "what comes next? There are latency, throughput, energy, call", 0),
        ("latency", "there are breakdown", 8),
        ("latency breakdwn inclusive", "here is no 'breakdwn'; is it 'breakdown'?", 8),
        ("latency down", "here is no 'down'; there are breakdown, operation, collective", 8),
        ("latency breakdown [0]", "there are inclusive, exclusive", 18),
        ("latency breakdown inclusive [0] [1] [2]", "too many words", 36),
        ("call [3-1]", "3-1 ends before it begins", 5),
        ("call [0-3", "a bracket is missing", 5),
        ("call [x]", "'x' is no number or range", 5),
        ("call []", "'' is no number or range", 5),
        ("call [-3]", "'-3' is no number or range", 5),
        ("energy 5", "INACTIVE is missing, in watts", 9),
        ("energy nan 5", "ACTIVE is a number of watts", 7),
        ("call [1,9999999999999999]", "at most 15 digits", 5),
    ],
)
def test_mistakes_are_shown_in_their_place(text: str, says: str, mark: int) -> None:
    with pytest.raises(UsageError) as error:
        parse(text)
    first, shown, marks = str(error.value).split("\n")
    assert says.lower() in first.lower()
    assert shown == f"  {text.rstrip()}"
    assert len(marks) - len(marks.lstrip()) - 2 == mark
    assert set(marks.strip()) == {"^"}


def test_any_text_is_a_query_or_one_error_with_its_place() -> None:
    dice = random.Random(1)
    letters = string.printable + "é٣\u202e\x00"
    read = 0
    for _ in range(20_000):
        words = [
            dice.choice(ATOMS) if dice.random() < 0.97 else "".join(dice.choices(letters, k=4))
            for _ in range(dice.randrange(9))
        ]
        if dice.random() < 0.6:
            words = [dice.choice(list(forms())), *words]
        text = " ".join(words)
        try:
            query = parse(text)
        except UsageError as error:
            lines = str(error).split("\n")
            assert len(lines) == 3, text
            start, stop = lines[2].index("^"), len(lines[2])
            # Under a word of the query, or right behind its end.
            assert start - 2 <= len(text.rstrip()) + 1 and stop - 2 <= len(text) + 2
        else:
            read += 1
            again = parse(str(query))
            assert (again.procs, again.calls, again.subcalls, again.servers) == (
                query.procs, query.calls, query.subcalls, query.servers,
            )  # fmt: skip
            assert str(again) == str(query)
    assert read > 1000


def test_sets_hold_what_they_say() -> None:
    dice = random.Random(2)
    for _ in range(300):
        ranges = [
            (a, a + dice.randrange(4)) for a in dice.choices(range(20), k=dice.randrange(1, 4))
        ]
        numbers = Numbers(tuple(ranges))
        condition = numbers.condition("x")
        assert re.fullmatch(r"\((x between \d+ and \d+( or )?)+\)", condition)
        for x in range(25):
            inside = any(a <= x <= b for a, b in ranges)
            assert (x in numbers) == inside
            python = re.sub(r"x between (\d+) and (\d+)", r"(\1 <= x <= \2)", condition)
            assert eval(python, {"x": x}) == inside
    assert 5 in Numbers() and Numbers().condition("x") == "true"


def test_each_form_is_named_by_the_words_that_lead_to_it() -> None:
    def walk(words: object, path: str) -> None:
        if isinstance(words, Form):
            assert words.name == path
            return
        assert isinstance(words, dict)
        for word, inner in words.items():
            assert word not in ALSO
            walk(inner, f"{path} {word}".strip())

    walk(GRAMMAR, "")
