"""What a check says."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "limit", "problem", "fact"]


@dataclass(frozen=True)
class Finding:
    """`limit`: works in part. `problem`: does not work. `do`: what to do about either. `fact`: what bugs depend on."""

    what: str
    verdict: Verdict
    detail: str
    do: str = ""
