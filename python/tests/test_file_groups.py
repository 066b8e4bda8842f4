"""Files whose names differ in numbers or random letters only are of one group, here and in an anonymised copy."""

import hashlib
import re
import string
import uuid
from collections import defaultdict
from collections.abc import Callable
from random import Random

import duckdb
import pytest
from fathom.run import macros
from fathom.run.anonymise.names import Names

NUMBER = r"[0-9]+([.][0-9]+)*([eE][-+]?[0-9]+)?"
MANY = 1000


def letters(random: Random, of: str, size: int) -> str:
    return "".join(random.choices(of, k=size))


def of_python(random: Random) -> str:
    return letters(random, string.ascii_lowercase + string.digits, 8)


def of_mkstemp(random: Random) -> str:
    return letters(random, string.ascii_letters + string.digits, 6)


def digest(size: int) -> Callable[[Random], str]:
    return lambda random: hashlib.sha256(random.randbytes(9)).hexdigest()[:size]


def identifier(random: Random) -> str:
    return str(uuid.UUID(int=random.getrandbits(128)))


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    macros.load(made, "file_group() file_suffix()")
    return made


def groups(connection: duckdb.DuckDBPyConnection, names: list[str]) -> list[tuple[str, str]]:
    """Group and suffix of each."""
    asked = "select file_group(one), file_suffix(one) from (select unnest($names) as one)"
    return connection.execute(asked, {"names": names}).fetchall()


@pytest.mark.parametrize(
    ("name", "drawn", "group", "share"),
    [
        ("ckpt-{}.h5", digest(64), "ckpt-*.h5", 1),
        ("ckpt-{}.h5", digest(12), "ckpt-*.h5", 0.98),
        ("ckpt-{}.h5", digest(7), "ckpt-*.h5", 0.85),
        ("out.{}", identifier, "out.*", 1),
        ("tmp{}", of_python, "tmp*", 0.8),
        ("tmp{}.nc", of_mkstemp, "tmp*.nc", 0.6),
        ("tmp.{}", of_mkstemp, "tmp.*", 0.5),
        (".out.h5.{}", of_mkstemp, ".out.h*", 0.4),
        ("run{}.dat", lambda random: str(random.randrange(10**6)), "run*.dat", 1),
    ],
)
def test_random_names_are_of_one_group(
    connection: duckdb.DuckDBPyConnection, name: str, drawn: Callable[[Random], str], group: str, share: float
) -> None:  # fmt: skip
    """Of those that by chance look like a word and a number some are not."""
    random = Random(7)
    found = groups(connection, [f"/d/{name.format(drawn(random))}" for _ in range(MANY)])
    assert sum(one == group for one, _ in found) >= share * MANY


@pytest.mark.parametrize("seed", range(3))
def test_words_with_numbers_keep_their_words(
    connection: duckdb.DuckDBPyConnection, seed: int
) -> None:
    """Words of this folder's own texts, by themselves, side by side, and with numbers."""
    random = Random(seed)
    texts = " ".join(one.read_text() for one in macros.FOLDER.glob("*.sql"))
    words = sorted(set(re.findall(r"\b[A-Za-z]{2,12}\b", texts)))
    names = []
    for _ in range(MANY):
        first, second = random.choices(words, k=2)
        number = random.choice(["", str(random.randrange(10**5)), f"{random.randrange(10):05}"])
        names.append(random.choice(["", "tmp", "tmp_"]) + random.choice([
            f"{first}{number}", f"{first}{number}_{second}", f"{first}.{second}{number}-x",
            f"{first}{second.title()}{number}",
        ]))  # fmt: skip
    wanted = [re.sub(NUMBER, "*", name) for name in names]
    found = [group for group, _ in groups(connection, [f"{name}." for name in names])]
    assert [one.removesuffix(".") for one in found] == wanted


@pytest.mark.parametrize("seed", range(3))
def test_an_anonymised_copy_has_the_same_groups(
    connection: duckdb.DuckDBPyConnection, seed: int
) -> None:
    random = Random(seed)
    stems = ("Kraftwerk", "Kessel-", "tmp", "tmp.", "_", "")
    suffixes = ("", ".qzh5", ".qznc", ".")
    drawn = (
        of_python,
        of_mkstemp,
        digest(12),
        digest(7),
        identifier,
        lambda r: str(r.randrange(99)),
    )
    names = [
        f"{random.choice(stems)}{random.choice(drawn)(random)}{random.choice(suffixes)}" for _ in range(MANY)
    ]  # fmt: skip
    hidden = Names(b"key")
    copies = [hidden.component(name) for name in names]
    assert not [copy for copy in copies if "Kraft" in copy]
    of_original: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)
    for group, copy in zip(groups(connection, names), groups(connection, copies), strict=True):
        of_original[group].add(copy)
    assert all(len(copies) == 1 for copies in of_original.values())
    assert len({min(copies) for copies in of_original.values()}) == len(of_original)
