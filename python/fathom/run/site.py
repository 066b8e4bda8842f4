"""The site's reference: what accesses cost in other runs on the same mounts, in one file that FATHOM_SITE names."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from fathom.errors import UsageError
from fathom.files import facts, replace_text

FORMAT = 1
DIRECTIONS = ("read", "write")


@dataclass(frozen=True)
class Reference:
    """What accesses of one direction cost on one mount: medians over runs, and their best tenth."""

    file_system: str
    mount: str
    kind: str  # read, write
    runs: int
    request: float | None  # seconds of a request beyond its bytes; None: no run shows it
    request_best: float | None
    per_byte: float  # seconds of a byte
    per_byte_best: float


def named() -> Path | None:
    """The site's file; None where FATHOM_SITE is not set."""
    path = os.environ.get("FATHOM_SITE")
    return Path(path) if path else None


def sign() -> str:
    """Tells the site's file from others, and from none: what is found depends on it."""
    path = named()
    known = facts(path) if path else None
    return f"{path}:{known.st_size}:{known.st_mtime_ns}" if known else ""


def write(path: Path, references: Sequence[Reference]) -> None:
    """The file, whole or not at all."""
    content = {"format": FORMAT, "references": [asdict(one) for one in references]}
    try:
        replace_text(path, json.dumps(content, indent=1) + "\n")
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error


def _number(row: dict[str, Any], key: str) -> float:
    value = row[key]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:
        raise ValueError(f"{key} is a number above 0, not {value!r}")
    return float(value)


def _reference(row: dict[str, Any]) -> Reference:
    """Raises ValueError, KeyError or TypeError where it is none."""
    if row["kind"] not in DIRECTIONS:
        raise ValueError(f"kind is read or write, not {row['kind']!r}")
    if row["request"] is not None:
        _number(row, "request")
        _number(row, "request_best")
    for key in ("runs", "per_byte", "per_byte_best"):
        _number(row, key)
    if not isinstance(row["file_system"], str) or not isinstance(row["mount"], str):
        raise ValueError("file_system and mount are text")
    return Reference(**{field.name: row[field.name] for field in fields(Reference)})


def read(path: Path) -> list[Reference]:
    """What the file says. Errors: UsageError with the file, and what is wrong with it."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise ValueError(f"format {content['format']!r} is not {FORMAT}")
        return [_reference(row) for row in content["references"]]
    except OSError as error:
        why = error.strerror or str(error)
    except KeyError as error:
        why = f"no {error.args[0]}"
    except (ValueError, TypeError) as error:
        why = str(error)
    raise UsageError(
        f"{path}: no file of a site (FATHOM_SITE): {why};"
        " unset FATHOM_SITE and make it again: fathom landscape RUN… --site FILE"
    )
