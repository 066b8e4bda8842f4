"""What stands for a name: letters and digits of its HMAC-SHA256 (RFC 2104), so that equal names stay equal, and
nobody who lacks the key can try names out."""

import hashlib
import hmac
import re
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise

from fathom.run.anonymise.vocabulary import WORD, Vocabulary

#: Of letters: no vowels, so that no word of a language comes of it by chance, and no `e`, which makes numbers longer.
ALPHABET = "bcdfghjklmnpqrstvwxz"
LETTERS, DIGITS = 12, 14  # of a hash: 51 bits, 46 bits
LEAST = 4  # letters of a name that is searched for: shorter ones are everywhere

# As analysis/sql/conditions.sql has them (file_suffix, file_group, is_random), so that files stay in their groups.
_SUFFIX = re.compile(r"(.+?)([.]so(?:[.][0-9]+)*|[.][A-Za-z][A-Za-z0-9_]{0,9})", re.S)
_NUMBER = re.compile(r"([0-9]+(?:[.][0-9]+)*(?:[eE][-+]?[0-9]+)?)")
_RUN = re.compile(r"[0-9]+")
_UUID = re.compile(r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_PART = re.compile(r"tmp[.]?|[A-Za-z0-9]+|[^A-Za-z0-9]+")
_HEXADECIMAL = re.compile(r"[0-9a-f]+|[0-9A-F]+")
_BY_TURNS = re.compile(r"[A-Fa-f][0-9]+[A-Fa-f]|[0-9][A-Fa-f]+[0-9]")
_DIGITS_FIRST = re.compile(r"[0-9]+[A-Fa-f]{2,}")
_MIXED = re.compile(r"[0-9][A-Za-z]|[a-z][A-Z].*[a-z][A-Z]")
_OF_ONE_CASE = re.compile(r"[a-z]{3}|[A-Z]{3}")
_BETWEEN = re.compile(r"[-_.+ ]*")
#: What the kernel, or a log, calls a file that has no name.
_NAMELESS = re.compile(r"(pipe|socket):\[\d+\]|anon_inode:\[\w+\]|<STD(IN|OUT|ERR)>")
_TOKEN = re.compile(r"[^\s/,;:'\"()\[\]{}<>=|&]+")
_AMOUNT = re.compile(r"[-+]?\d[\d.]*(?:[eE][-+]?\d+)?%?")
_PATH = re.compile(r"(?<![\w/])/[^\s,;:'\"()]+")


def is_random(part: str, before: str) -> bool:
    """Does a part of a name look drawn at random, so that it says nothing of a file? `before`: the part before it."""
    size = len(part)
    if size < 6:
        return False
    if _HEXADECIMAL.fullmatch(part):
        return bool(_BY_TURNS.search(part) or (size >= 8 and _DIGITS_FIRST.fullmatch(part)))
    if not (size in (6, 8, 10) and part.isascii() and part.isalnum() and _MIXED.search(part)):
        return False
    mixed = any(map(str.islower, part)) and any(map(str.isupper, part))
    return before in ("tmp", "tmp.") or (size != 8 and mixed and not _OF_ONE_CASE.search(part))


class Names:
    """All that was replaced, by what."""

    def __init__(self, key: bytes, keep: Iterable[str] = (), listed: Iterable[str] = ()) -> None:
        """`keep`: paths below these stay readable. `listed`: as in `Vocabulary`."""
        self.vocabulary = Vocabulary(listed)
        self.hidden: dict[str, str] = {}  # what stood there -> what stands for it
        self.suffixes: set[str] = set()  # of files, that stay
        self.sentence_words: set[str] = set()  # words of our sentences, hidden nowhere
        self._key = key
        self._long: list[str] = []  # hidden ones of several words
        self._looked = 0  # hidden ones of which that is known
        prefixes = "|".join(re.escape(prefix.rstrip("/")) for prefix in keep)
        #: A path below a folder that stays readable; without such folders nothing.
        self.readable = re.compile(rf"(?:{prefixes})(?=[/\"]|$)[^\"\n]*" if prefixes else r"(?!)")
        self.component = cache(self._component)
        #: What is made of a text, by the class that catalog/tables.toml gives it.
        self.by_class: dict[str, Callable[[str], str]] = {
            "word": self.word, "name": self.name, "id": self.identity, "host": self.host, "path": self.path,
            "system": self.system, "text": self.text, "arguments": self.arguments, "note": self.note,
        }  # fmt: skip

    def path(self, text: str) -> str:
        """A path: as deep as it was."""
        if _NAMELESS.fullmatch(text) or self.readable.fullmatch(text):
            return text
        return "/".join(map(self.component, text.split("/")))

    def name(self, text: str) -> str:
        """As one."""
        return text if not text or self.vocabulary.is_name(text) else self._hide(text)

    def host(self, text: str) -> str:
        """A machine's, with and without its domain."""
        if not text:
            return text
        short, dot, _ = text.partition(".")
        if dot and short:
            self._hide(short)
        self.hidden[text] = self._letters(text)
        return self.hidden[text]

    def number(self, value: int) -> int:
        """A number that is somebody's."""
        return int.from_bytes(self._digest("user", str(value))[:3])

    def identity(self, text: str) -> str:
        """16 digits to the base of 16, as runs have them."""
        return self._digest("id", text).hex()[:16]

    def word(self, text: str) -> str:
        """A function, a layer, an argument."""
        return text if text in self.vocabulary.words else self.name(text)

    def system(self, text: str) -> str:
        """`BOOT:MAJOR:MINOR`, or `TYPE:SOURCE`."""
        head, colon, rest = text.partition(":")
        if re.fullmatch(r"\d+:\d+", rest):
            return self.host(head) + colon + rest
        return head + colon + self.text(rest)

    def text(self, text: str) -> str:
        """The user's words, and numbers that stay."""
        return _TOKEN.sub(lambda token: self._token(token[0], numbers=True), text)

    def arguments(self, text: str) -> str:
        """Words of a command line or of the environment."""
        if self.readable.fullmatch(text):
            return text
        return _TOKEN.sub(lambda token: self._token(token[0], numbers=False), text)

    def note(self, text: str) -> str:
        """A sentence of ours: paths in it, and names that are hidden elsewhere."""
        for name in self._awkward(text):
            text = text.replace(name, self.hidden[name])
        text = _PATH.sub(lambda path: self.path(path[0]), text)
        return _TOKEN.sub(lambda token: self._if_hidden(token[0]), text)

    def _awkward(self, text: str) -> list[str]:
        """Hidden names in the text that are more than a word, the longest first."""
        if len(self.hidden) > self._looked:
            new = list(self.hidden)[self._looked :]
            self._long += [name for name in new if not _TOKEN.fullmatch(name)]
            self._long.sort(key=len, reverse=True)
            self._looked = len(self.hidden)
        return [name for name in self._long if name in text]

    def _if_hidden(self, token: str) -> str:
        bare = token.rstrip(".")
        stem, suffix = (bare, "") if bare in self.hidden else self._split(bare)
        if stem in self.hidden and bare not in self.vocabulary.words:
            return self.hidden[stem] + suffix + token[len(bare) :]
        self.sentence_words.update(WORD.findall(token))
        return token

    def _token(self, token: str, *, numbers: bool) -> str:
        bare = token.lstrip("-")
        dashes = token[: len(token) - len(bare)]
        if (len(bare) <= 1 and not bare.isdigit()) or bare in self.vocabulary.words:
            return token
        if numbers and _AMOUNT.fullmatch(bare):
            return token
        return dashes + self.component(bare)

    def _component(self, name: str) -> str:
        """One of a path: its suffix stays, as far as it is nobody's name."""
        if name in ("", ".", "..") or self.vocabulary.is_name(name):
            return name
        stem, suffix = self._split(name)
        self.suffixes.update(WORD.findall(suffix))
        return self._hide(stem) + suffix

    def _split(self, name: str) -> tuple[str, str]:
        match = _SUFFIX.fullmatch(name)
        if match is None or match[2][1:] in self.hidden or is_random(match[2][1:], ""):
            return name, ""
        return match[1], match[2]

    def _hide(self, name: str) -> str:
        """Numbers and random letters apart from the rest: files `out.1` and `out.2` stay two of a kind."""
        if name not in self.hidden:
            pieces = _NUMBER.split(self._numbered(name))
            self.hidden[name] = "".join(
                _RUN.sub(lambda run: self._digits(run[0]), piece) if at % 2 else self._piece(piece)
                for at, piece in enumerate(pieces)
            )
        return self.hidden[name]

    def _numbered(self, name: str) -> str:
        """With digits for what is random."""
        parts = _PART.findall(_UUID.sub(lambda found: self._digits(found[0]), name))
        return "".join(
            self._digits(part) if is_random(part, before) else part
            for before, part in pairwise(["", *parts])
        )

    def _piece(self, piece: str) -> str:
        return piece if _BETWEEN.fullmatch(piece) else self._letters(piece)

    def _letters(self, text: str) -> str:
        value = int.from_bytes(self._digest("name", text)[:16])
        letters = []
        for _ in range(LETTERS):
            value, place = divmod(value, len(ALPHABET))
            letters.append(ALPHABET[place])
        return "".join(letters)

    def _digits(self, text: str) -> str:
        value = int.from_bytes(self._digest("number", text)[:16])
        return f"{value % 10**DIGITS:0{DIGITS}}"

    def _digest(self, what: str, text: str) -> bytes:
        given = f"{what}\0{text}".encode(errors="surrogateescape")
        return hmac.new(self._key, given, hashlib.sha256).digest()
