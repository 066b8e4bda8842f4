"""Forwarding servers: they record themselves, so one that runs is asked to begin or to end, on its Unix socket."""

import json
from collections.abc import Sequence
from pathlib import Path

from fathom.attach.injector import Answer, Status
from fathom.attach.target import Target
from fathom.errors import FathomError, RunError
from fathom.run import engine


def is_one(target: Target) -> bool:
    """Is it a server of `fathom forward`?"""
    return target.program == "fathom-engine" and target.command[1:2] == ("forward",)


def socket(target: Target) -> Path:
    """Where it listens. Raises the line that says that it cannot be asked."""
    words = iter(target.command)
    for word in words:
        option, equals, value = word.partition("=")
        if option == "--unix":
            return Path(target.directory) / (value if equals else next(words, ""))
    raise FathomError(
        f"process {target.pid} is a forwarding server that no Unix socket leads to: start it with --record RUN"
    )


def attach(target: Target, settings: Sequence[str]) -> Answer:
    """Begins recording by `settings` (NAME=VALUE)."""
    return _ask(target, [], "".join(f"{line}\0" for line in settings) + "\0")


def detach(target: Target) -> Answer:
    """Ends it; what was recorded is in the run directory afterwards."""
    return _ask(target, ["--end"], "")


def _ask(target: Target, words: Sequence[str], settings: str) -> Answer:
    try:
        reply = engine.ask(["forward-record", str(socket(target)), *words], settings)
    except RunError as error:
        raise FathomError(f"process {target.pid}: {error}") from error
    outcome, run = json.loads(reply)
    return Answer(Status(outcome), run)
