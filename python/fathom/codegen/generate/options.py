"""The options there are, and what each may be."""

import re
from collections.abc import Iterable

from fathom.codegen.generate.language import statements as st
from fathom.codegen.generate.language.mistake import Mistake
from fathom.codegen.generate.optimise.rules import OFF, OVERRIDES
from fathom.codegen.generate.spec import LANGUAGES, LIBRARIES
from fathom.errors import UsageError, unknown

#: A regular expression each word of the option must match, and that in words.
NAME = (r"[A-Za-z][A-Za-z_0-9]{0,39}", "a name of letters and digits")
NUMBER = (r"[1-9][0-9]{0,8}", "a whole number from 1")
SIZE = (r"[1-9][0-9]{0,17}", "a number of bytes")


def _one_of(*words: str) -> tuple[str, str]:
    return "|".join(map(re.escape, words)), f"one of {', '.join(words)}"


def _switches(name: str) -> list[str]:
    return [word for word in ("on", "off") if name in OFF and word not in OVERRIDES[name]]


OPTIONS = {
    "name": NAME,
    "library": _one_of(*LIBRARIES),
    "language": _one_of(*LANGUAGES),
    "processes": NUMBER,
    "file": (r"[^\"\\\n]+", "a file's name, or a variable of the program"),
    "communicator": NAME,
    "mpi": _one_of("mpi_f08", "mpi"),
    "status": NAME,
    "lump": NAME,
    **{name: _one_of(*values, *_switches(name)) for name, values in OVERRIDES.items()},
}
LAYOUT = {
    "striping_factor": NUMBER,
    "striping_unit": SIZE,
    "cb_nodes": NUMBER,
    "cb_buffer_size": SIZE,
    "alignment": SIZE,
}
#: What `--rule` may say.
RULED = (*OVERRIDES, "lump")
SEVERAL = ("processes", "lump")


def check_option(kind: str, option_line: st.OptionLine) -> None:
    """Mistake for one that is not known, or has no such value."""
    known = OPTIONS if kind == "options" else LAYOUT
    if option_line.name.text not in known:
        raise Mistake(
            option_line.name.place,
            f"no option of {kind} is called '{option_line.name.text}'",
            f"there are {', '.join(known)}",
        )
    pattern, wants = known[option_line.name.text]
    for word in option_line.words:
        if not re.fullmatch(pattern, word.text):
            raise Mistake(
                word.place,
                f"{option_line.name.text}: '{word.text}' is not {wants}",
                f"write {wants}",
            )
    if len(option_line.words) > 1 and option_line.name.text not in SEVERAL:
        raise Mistake(
            option_line.words[1].place,
            f"{option_line.name.text} has one value",
            "take the rest out",
        )


def meant(name: str, word: str) -> str:
    """A rule that is switched on or off as the value of its option; any other word as it is."""
    if name in OFF and word in ("on", "off"):
        return OVERRIDES[name][0] if word == "on" else OFF[name]
    return word


def ruled(assignments: Iterable[str]) -> dict[str, str]:
    """Options from `NAME=VALUE`, as --rule has them. Errors: UsageError."""
    options = {}
    for assignment in assignments:
        name, _, word = assignment.partition("=")
        if name not in RULED:
            what = f"generate: --rule {assignment}: no rule has the option"
            raise UsageError(unknown(what, name, RULED))
        pattern, wants = OPTIONS[name]
        if not re.fullmatch(pattern, word):
            raise UsageError(f"generate: --rule {assignment}: '{word}' is not {wants}")
        options[name] = meant(name, word)
    return options
