"""The answers that a report holds, as many as its budget lets it."""

import base64
import gzip
import json
import math
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import fathom
from fathom.errors import FathomError
from fathom.webapi import answers as screens
from fathom.webapi.answers.session import Runs
from fathom.webapi.report import requests
from fathom.webapi.report.requests import Request

Say = Callable[[str], None]
LIVE = "`fathom view` at the run itself has it"


class Payload:
    """Answers by key. `budget`: bytes of the payload, as the page holds them."""

    def __init__(self, runs: Runs, budget: int, say: Say) -> None:
        """`say` is told what is being asked."""
        self.runs, self.budget, self.say = runs, budget, say
        self.answers: dict[str, Any] = {}
        self.left_out: list[str] = []
        self.failed: list[str] = []  # with the error
        self._packer = zlib.compressobj(6)
        self._size = 0  # bytes packed
        self._waiting: list[bytes] = []  # what is not packed yet

    def _add(self, request: Request) -> bool:
        """Asks, unless it has been asked; false where the answer is too much."""
        if request.key in self.answers:
            return True
        try:
            answer = screens.ask(self.runs, request.name, request.parameters)
        except FathomError as error:
            answer = error
        return self._put(request, answer)

    def _put(self, request: Request, answer: Any) -> bool:
        """Holds what was answered, or the error; false where it is too much."""
        if isinstance(answer, FathomError):
            self.failed.append(f"{request.key}: {answer}")
            return True
        if isinstance(answer, bytes):
            answer = base64.b64encode(answer).decode()
        if not self._fits(_text({request.key: answer})):
            return False
        self.answers[request.key] = answer
        return True

    def _fits(self, text: bytes) -> bool:
        """Is there room for so much more? It is packed to know that only where it might not."""
        waiting = sum(map(len, self._waiting)) + len(text)
        if (self._size + waiting) * 4 // 3 <= self.budget:
            self._waiting.append(text)
            return True
        packer = self._packer.copy()
        packed = packer.compress(b"".join([*self._waiting, text])) + packer.flush(zlib.Z_SYNC_FLUSH)
        if (self._size + len(packed)) * 4 // 3 > self.budget:
            return False
        self._packer, self._size, self._waiting = packer, self._size + len(packed), []
        return True

    def _drop(self, keys: set[str]) -> None:
        self.answers = {key: one for key, one in self.answers.items() if key not in keys}

    def every(self, what: str, wanted: Iterator[Request], seconds: float = math.inf) -> None:
        """As many of these as there is room for, and as can be asked in so many seconds."""
        self.say(what)
        missing, why, end = 0, "", time.monotonic() + seconds
        for request in wanted:
            if not why and time.monotonic() > end:
                why = "time"
            if not why and not self._add(request):
                why = "room"
            missing += bool(why)
        if missing:
            self.left_out.append(f"{what}: {missing:,} answers, for want of {why}")

    def chains(self, run: str, groups: Iterable[list[str]], seconds: float) -> None:
        """What stands around the calls of each group, asked together, and the trees that they are in; as many groups as
        can be asked in so many seconds."""
        what = f"chains of calls of {run}"
        self.say(what)
        missing, why, end = 0, "", time.monotonic() + seconds
        for calls in groups:
            if not why and time.monotonic() > end:
                why = "time"
            done = 0 if why else self._chains(run, calls)
            if done < len(calls):
                why = why or "room"
            missing += len(calls) - done
        if missing:
            self.left_out.append(f"{what}: {missing:,} answers, for want of {why}")

    def _chains(self, run: str, calls: list[str]) -> int:
        """How many there was room for, from the first on."""
        answers = screens.ask_each(self.runs, "call", {"run": run}, calls)
        roots = [
            None if isinstance(one, FathomError) else requests.outermost(one) for one in answers
        ]
        needed = list(dict.fromkeys(filter(None, roots)))
        trees = dict(
            zip(needed, screens.ask_each(self.runs, "tree", {"run": run}, needed), strict=True)
        )
        for done, (call, answer, root) in enumerate(zip(calls, answers, roots, strict=True)):
            if not self._put(Request("call", {"run": run, "call": call}), answer):
                return done
            tree = Request("tree", {"run": run, "call": root or ""})
            if root and tree.key not in self.answers and not self._put(tree, trees[root]):
                return done
        return len(calls)

    def together(self, what: str, wanted: Iterator[Request]) -> bool:
        """All of these or none."""
        self.say(what)
        state = (self._packer.copy(), self._size, [*self._waiting])
        before = set(self.answers)
        for request in wanted:
            if not self._add(request):
                self._packer, self._size, self._waiting = state
                self._drop(set(self.answers) - before)
                return False
        return True

    def omissions(self) -> list[str]:
        """What is not in the report, a line each: for want of room or time, or because it could not be answered."""
        left = [f"Not in this report: {one} ({LIVE})" for one in self.left_out]
        return left + [f"Could not be answered: {one}" for one in self.failed]

    def packed(self) -> str:
        """As the page holds it. The page's first screen says what was left out."""
        missing = {"left out": self.left_out, "failed": self.failed}
        answers = {**self.answers, "report": {"version": fathom.__version__, **missing}}
        omissions = self.omissions()
        for key, answer in self.answers.items():
            if key.startswith("overview?"):
                answers[key] = answer | {"missing": [*answer["missing"], *omissions]}
        packed = gzip.compress(_text(answers), 6, mtime=0)
        return base64.b64encode(packed).decode()


def _text(answers: dict[str, Any]) -> bytes:
    text = json.dumps(answers, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode(errors="replace")


def collect(runs: Runs, budget: int, patience: float, say: Say) -> Payload:
    """Screens, findings, files, chains of calls, then tiles, coarse before fine: what comes last is left out first.

    `patience`: seconds for the chains of calls of a run, of which there are hundreds; those of findings are the first.
    """
    payload = Payload(runs, budget, say)
    payload.every("screens", requests.first(runs))
    for run in runs.all:
        _coarsest(payload, run)
    for run in runs.all:
        payload.every(f"what findings of {run} show", requests.of_findings(run, payload.answers))
        payload.every(f"files of {run}", requests.of_files(run, payload.answers))
        payload.chains(run, requests.chains(run, payload.answers), patience)
    for run in runs.all:
        _finer(payload, run)
    return payload


def _coarsest(payload: Payload, run: str) -> None:
    for zoom, wanted in requests.tiles(run, payload.answers):
        if zoom == 0:
            payload.every(f"heat map of {run}", wanted)


def _finer(payload: Payload, run: str) -> None:
    for zoom, wanted in requests.tiles(run, payload.answers):
        if zoom and not payload.together(f"tiles of {run}, zoom {zoom}", wanted):
            payload.left_out.append(f"heat map of {run}: zooms from {zoom} on, for want of room")
            return
