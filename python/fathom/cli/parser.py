"""What a command takes, by argparse; but a mistake is one line that names what was meant."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from fathom.errors import UsageError, printable, unknown

#: What argparse says, and the same in plain words.
PLAIN = (
    (re.compile(r"^argument "), ""),
    (
        re.compile(r"^the following arguments are required: (.*)"),
        r"\1 is missing; HELP says what it takes",
    ),
    (re.compile(r"expected (one|at least one) argument"), "needs a value"),
    (re.compile(r"invalid int value: (.*)"), r"\1 is no whole number"),
    (re.compile(r"invalid float value: (.*)"), r"\1 is no number"),
    (re.compile(r"not allowed with argument (.*)"), r"does not go with \1"),
)


class Parser(argparse.ArgumentParser):
    """Of one command; `prog` is `fathom` and its name."""

    def read(
        self, words: Sequence[str], given: argparse.Namespace, mixed: bool
    ) -> argparse.Namespace:
        """The words as arguments, beside what is `given`. `mixed`: arguments may stand between options."""
        parse = self.parse_known_intermixed_args if mixed else self.parse_known_args
        arguments, rest = parse(words, given)
        if rest:
            self._refuse(rest)
        return arguments

    def error(self, message: str) -> NoReturn:
        """Of argparse's own mistakes."""
        for pattern, plain in PLAIN:
            message = pattern.sub(plain, message)
        name = self.prog.partition(" ")[2]
        raise UsageError(f"{name}: {printable(message)}".replace("HELP", f"fathom help {name}"))

    def _refuse(self, rest: list[str]) -> NoReturn:
        name = self.prog.partition(" ")[2]
        option = next((word.partition("=")[0] for word in rest if word.startswith("-")), None)
        if option is None:
            raise UsageError(f"{name}: '{printable(rest[0])}' is one word too many")
        shown = [
            word
            for action in self._actions
            if action.help != argparse.SUPPRESS
            for word in action.option_strings
        ]
        lists = f"fathom help {name} lists them"
        raise UsageError(unknown(f"{name}: no option", option, shown, lists))

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            named = action if action.option_strings else None
            known = [str(choice) for choice in action.choices]
            raise argparse.ArgumentError(named, unknown("no", str(value), known))
