"""forward/protocol.toml as a C header: `python constants.py TABLE HEADER`."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path


def header(table: dict[str, dict[str, int | str]]) -> str:
    """One enum per section; FWD_<SECTION>_<NAME>."""
    lines = [
        "/* Numbers of the forwarding protocol: made from forward/protocol.toml. */",
        "#ifndef FATHOM_FORWARD_PROTOCOL_H",
        "#define FATHOM_FORWARD_PROTOCOL_H",
    ]
    for section, numbers in table.items():
        if section == "type":
            continue
        lines += ["", f"/* {section}: {table['type'][section]} on the wire */", "enum {"]
        lines += [f"\tFWD_{section}_{name}".upper() + f" = {n}," for name, n in numbers.items()]
        lines.append("};")
    return "\n".join([*lines, "", "#endif", ""])


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(header(tomllib.loads(source.read_text())))
