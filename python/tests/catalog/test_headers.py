"""Each row's prototype is the one of the library's own header: the compiler compares them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from fathom.catalog.model import Api, Call, Form
from fathom.catalog.prototypes import declare
from probes import LIBRARIES, Library, api_of, compiled_for, compiler

UNDECLARED = re.compile(r"error: '(\w+)' undeclared|use of undeclared identifier '(\w+)'")
#: A prototype of which the header does not even have a type.
UNTYPED = re.compile(r"error: unknown type name '\w+'[^\n]*\n[^\n]*\(\*check_(\w+)\)")
#: Fortified forms are declared only when a program is compiled with them.
FLAGS = ["-std=gnu11", "-O2", "-D_GNU_SOURCE", "-D_FORTIFY_SOURCE=2"]
STRICT = ["-Werror=incompatible-pointer-types", "-Wno-deprecated-declarations"]


def assignment(call: Call, form: Form, symbol: str) -> str:
    result = call.result.type if call.result else "void"
    parameters = ", ".join(declare(form.parameters, form.variadic))
    return f"{result} (*check_{symbol})({parameters}) = {symbol};"


def complaints(library: Library, api: Api, skip: set[str], tmp_path: Path) -> str:
    lines = [f"#include <{name}>" for name in api.system]
    for name in api.headers:  # of a library in two editions, one may lack a header
        lines += [f"#if __has_include(<{name}>)", f"#include <{name}>", "#endif"]
    for call in api.calls:
        for form in call.forms:
            lines += [
                assignment(call, form, symbol) for symbol in form.symbols if symbol not in skip
            ]
    source = tmp_path / "check.c"
    source.write_text("\n".join(lines) + "\n", encoding="utf-8")
    compiler = compiled(library, source)
    return compiler.stderr if compiler.returncode else ""


def compiled(library: Library, source: Path) -> subprocess.CompletedProcess[str]:
    # h5pcc links what it is not told to compile only.
    folders = [f"-I{folder}" for folder in library.include]
    command = [compiler(library), *FLAGS, *STRICT, *folders, "-c", source.name]
    plain = os.environ | {"LC_ALL": "C"}
    return subprocess.run(
        command, capture_output=True, text=True, env=plain, cwd=source.parent, check=False
    )


@pytest.mark.some(6)
@pytest.mark.parametrize("library", compiled_for(), ids=lambda one: f"{one.layer}-{one.name}")
def test_prototypes_are_those_of_the_header(library: Library, tmp_path: Path) -> None:
    api = api_of(library.layer)
    first = complaints(library, api, set(), tmp_path)
    undeclared = {name for pair in UNDECLARED.findall(first) for name in pair if name}
    undeclared |= set(UNTYPED.findall(first))
    newer = {symbol for call in api.calls for symbol in call.newer()}
    hidden = {
        name
        for name in undeclared
        if name.startswith("__") or name in newer or name in api.undeclared
    }
    assert undeclared <= hidden, (
        f"not declared by {library.name}: {' '.join(sorted(undeclared - hidden))}"
    )
    errors = complaints(library, api, undeclared, tmp_path)
    assert not errors, errors


def test_a_wrong_prototype_is_noticed(tmp_path: Path) -> None:
    """The check can fail: an argument too many is an error."""
    library = LIBRARIES[0]
    source = tmp_path / "wrong.c"
    source.write_text(
        "#include <unistd.h>\nssize_t (*check_pwrite)(int, const void *, size_t, off_t, int) = pwrite;\n",
        encoding="utf-8",
    )
    compiler = compiled(library, source)
    assert compiler.returncode != 0
    assert "incompatible pointer type" in compiler.stderr
