"""What a check says."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "limit", "problem"]


@dataclass(frozen=True)
class Finding:
    """`limit`: works in part. `problem`: does not work. `do`: what to do about either."""

    what: str
    verdict: Verdict
    detail: str
    do: str = ""
