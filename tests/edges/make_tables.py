"""Writes the symbol tables of the edge tests: each wrapper counts its call and jumps on.

usage: make_tables.py OUT.c OUT.S NAMES...
NAMES is a file with one line for each symbol: "api name copies"; apis: posix, mpiio, hdf5; inner,
which looks inside; and bound, whose library holds bindings of another language.
"""

import sys

APIS = {
    "posix": ["libc.so.*", "ld-linux*"],
    "mpiio": ["libmpi*.so*"],
    "hdf5": ["libhdf5*.so*", "libown*.so*", "!libown_not*"],
    "inner": ["libown_inner*.so"],
    "bound": ["libbound.so"],
}

HEAD = """\t.hidden edge_originals
\t.hidden counts
\t.section .note.GNU-stack,"",%progbits
\t.text
.macro COUNT index
\t.globl count_\\index
\t.hidden count_\\index
\t.type count_\\index, %function
count_\\index:
\tlock incq counts+8*\\index(%rip)
\tjmp *edge_originals+8*\\index(%rip)
.endm
"""


def read(paths: list[str]) -> list[tuple[str, str, int]]:
    rows = {}
    for path in paths:
        with open(path) as lines:
            for line in lines:
                api, name, copies = line.split()
                rows.setdefault((name, api == "inner"), (name, api, int(copies)))
    return sorted(rows.values(), key=lambda row: (row[0].encode(), row[1] == "inner"))


def main() -> int:
    c_path, asm_path, *names = sys.argv[1:]
    rows = read(names)
    total = sum(copies for _, _, copies in rows)
    layers = {api: number for number, api in enumerate(APIS)}
    with open(c_path, "w") as out:
        out.write('#include "edges/edges.h"\n')
        for api, own in APIS.items():
            globs = ", ".join(f'"{g}"' for g in own)
            out.write(f"static const char *const modules_{api}[] = {{{globs}, NULL}};\n")
        out.write("const struct edge_api edge_apis[] = {\n")
        for api, number in layers.items():
            inside = str(api == "inner").lower()
            bindings = str(api == "bound").lower()
            out.write(f'\t{{"{api}", {number}, {inside}, modules_{api}, {bindings}}},\n')
        out.write(f"}};\nconst uint32_t edge_apis_count = {len(APIS)};\n")
        out.write("const struct edge_symbol edge_symbols[] = {\n")
        wrapper = 0
        for name, api, copies in rows:
            out.write(
                f'\t{{"{name}", {wrapper}, {copies}, {layers[api]}, {1 << layers[api]:#x}, NULL}},\n'
            )
            wrapper += copies
        out.write(f"}};\nconst uint32_t edge_symbols_count = {len(rows)};\n")
        out.write(f"void *edge_originals[{total}];\nuint64_t counts[{total}];\n")
        out.write(f"const uint32_t wrappers_count = {total};\n")
        out.write("".join(f"extern void count_{i}(void);\n" for i in range(total)))
        out.write("void *const edge_wrappers[] = {\n")
        out.write("".join(f"\tcount_{i},\n" for i in range(total)))
        out.write("};\n")
    with open(asm_path, "w") as out:
        out.write(HEAD + "".join(f"COUNT {i}\n" for i in range(total)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
