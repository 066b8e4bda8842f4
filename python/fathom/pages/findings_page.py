"""The reference page of all findings, from the headers of their files and the programs that they are tested with.

python -m fathom.pages.findings_page tests/findings > docs/findings.md
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fathom.analysis.findings import Rule, catalogue, read
from fathom.text import numbers

INTRODUCTION = """\
# Findings

What `fathom show RUN --findings` concludes, a file of SQL each in [catalog/findings](../catalog/findings/README.md),
in the order of the layer where they are mended. This page is made from their headers. What the store can do is learnt
from the run's own calls ([store.sql](../catalog/findings/shared/store.sql)); no threshold is a number of another
machine. What loses less than 10 ms and less than 1 % of the run time is not said, nor what does so without its longest
call: a busy machine may make one up to 100 ms longer.

Each has an *example*: two programs that do the same work, one with the mistake, the other without. Kernels are in
`build/kernels`, `programs/…` in `build/tests`; `DIR` is where the store is made slow. Both are recorded, and the
finding is made of the first only, by

```
.venv/bin/python -m pytest tests/test_findings.py -k few-aggregators
```
"""
ORDER = ("hdf5", "netcdf", "pnetcdf", "mpiio", "posix", "stdio", "aio")


def _plain(words: str) -> str:
    """`{seconds:seconds}` -> *seconds*; what Markdown would take for a table's end is kept apart, what is only said at
    times is there."""
    whole = re.sub(r"\[([^]]*)\]", r"\1", words)
    apart = whole.replace("}{", "} {")  # one at another would be bold
    return re.sub(r"\{(\w+)(:\w+)?\}", r"*\1*", apart).replace("|", "\\|")


def _slowness(slow: Mapping[str, object]) -> str:
    """How slow the store of an example is."""
    forms = {
        "latency_us": "{} µs for each access",
        "rate_mb": "{} MB/s",
        "queue": "one access at a time",
        "only": "of {} only",
        "servers": "a server of its own for each directory",
    }
    return ", ".join(form.format(slow[key]) for key, form in forms.items() if key in slow)


def _example(path: Path) -> str:
    """What a test's file says: its comment, and the two programs."""
    text = path.read_text(encoding="utf-8")
    pair = tomllib.loads(text)
    comment = " ".join(
        line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#")
    )
    guilty, innocent = (pair[one].replace("{tmp}", "DIR") for one in ("guilty", "innocent"))
    ranks = pair.get("ranks", 0)
    where = [f"{ranks} rank{'s' * (ranks > 1)}, {pair.get('mpi', 'mpich')}"] if ranks else []
    if pair.get("run"):
        where.append(f"`fathom run {pair['run']}`")
    if slow := _slowness(pair.get("slow", {})):
        where.append(f"store: {slow}")
    example = f"- **example** {comment} With the mistake `{guilty}`, without it `{innocent}`"
    return example + (f" ({'; '.join(where)})" if where else "")


def examples(folder: Path) -> dict[str, list[str]]:
    """Of each finding its examples: `NAME.toml`, then `NAME.VARIANT.toml`."""
    examples: dict[str, list[str]] = {}
    for path in sorted(folder.glob("*.toml"), key=lambda one: (one.name.count("."), one.name)):
        examples.setdefault(path.name.split(".")[0], []).append(_example(path))
    return examples


def _entry(rule: Rule, tried: Sequence[str]) -> str:
    lines = [
        f"### {rule.name}: {_plain(rule.title)}",
        "",
        f"{_plain(rule.says)}.",
        "",
        f"- **said when** {_plain(rule.limit)}",
        f"- **seconds** {_plain(rule.lost)}; {numbers.percent(rule.sure)} sure unless the run says otherwise",
        f"- **do** {_plain(rule.fix)}",
    ]
    if rule.knob:
        lines.append(f"- **knob** {_plain(rule.knob)}")
    if rule.ompio:
        lines.append(f"- **knob of OMPIO** {_plain(rule.ompio)}")
    lines += [f"- **seen** {_plain(rule.seen)}", *tried]
    return "\n".join(lines) + "\n"


def _place(layer: str) -> tuple[int, str]:
    return (ORDER.index(layer) if layer in ORDER else len(ORDER), layer)


def page(rules: Iterable[Rule], tried: Mapping[str, Sequence[str]]) -> str:
    """The page, in Markdown; `tried`: examples of each finding."""
    parts = [INTRODUCTION]
    layer = ""
    for rule in sorted(rules, key=lambda one: (_place(one.layer), one.name)):
        if rule.layer != layer:
            layer = rule.layer
            parts.append(f"## {layer}\n")
        parts.append(_entry(rule, tried.get(rule.name, ())))
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page(map(read, catalogue()), examples(Path(sys.argv[1]))))
