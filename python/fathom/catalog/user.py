"""A user's own catalogs: checked against the built-in ones, made into a library, on the spot.

Needs the standard library and a C compiler only.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from fathom.files import replacing

from . import generate
from .hooks import is_statement
from .load import load
from .model import LAYERS, Api, Call, Catalog, CatalogError
from .prototypes import declare, join_type

#: OPS_BROUGHT of runtime/core/ops.h.
MOST_OPS = 512
#: Hooks that a library of the user's own can have: functions that runtime/user/probe_glue.c passes on.
HOOKS = ("call_text", "call_path", "probe_opens", "probe_closes")
#: How arguments may name a file there.
WAYS = ("", "fd", "path")

FLAGS = (
    "-std=gnu11 -O2 -g -shared -fPIC -fvisibility=hidden -fno-stack-protector -U_FORTIFY_SOURCE"
    " -fno-omit-frame-pointer -D_GNU_SOURCE -Wl,-soname,libfathom-probes.so -Wl,-z,now -Wl,-z,defs"
    " -Werror=implicit-function-declaration"
)


#: The line that the emitters put before each function.
_ROW = re.compile(r"/\* \S+: (\w+)(?:, of each type)? \*/")

#: "FILE: ROW KEY:1:20: error: …" of the compiler, "FILE: ROW:7: undefined …" of the linker.
_PLACE = re.compile(r"(?:\S*ld: )?(.*?):\d+(?::\d+)?: (?:(?:fatal )?error: )?(.*)")
_ERRORS = ("undefined reference", " error: ", "error")


class BuildError(Exception):
    """The library cannot be built; the text is one line."""


def load_user(paths: Sequence[Path], built_in: Sequence[Path]) -> Catalog:
    """Read the user's files; raises CatalogError at the first mistake."""
    catalog = load(paths)
    known = {
        symbol: (api, call)
        for api, call in load(built_in).calls()
        for symbol in (*call.symbols(), *call.fortran)
    }
    for api in catalog.apis:
        _check_api(api)
        for call in api.calls:
            _check_call(api, call)
            for symbol in call.symbols():
                if symbol in known:
                    theirs, row = known[symbol]
                    problem = f"'{symbol}' is built in: {row.op} of layer {theirs.layer}"
                    raise CatalogError(api.path, call.op, "symbols", problem)
    ops = sum(1 for api in catalog.apis for _ in api.recorded())
    if ops > MOST_OPS:
        problem = f"{ops} functions in all, at most {MOST_OPS} fit"
        raise CatalogError(catalog.apis[-1].path, "", "call", problem)
    return catalog


def _check_api(api: Api) -> None:
    if api.layer != "user" and api.layer in LAYERS:
        problem = f"'{api.layer}' is Fathom's own; write layer = \"user\" and a name"
        raise CatalogError(api.path, "[api]", "layer", problem)
    if api.layer == "user":
        problem = "is missing: what shall the tables call its layer?"
        raise CatalogError(api.path, "[api]", "name", problem)
    if not any(api.recorded()):
        raise CatalogError(api.path, "", "call", "there is no [[call]]")
    for key, given in (("include", api.include), ("bindings_inside", api.bindings_inside)):
        if given:
            raise CatalogError(api.path, "[api]", key, "is for built-in catalogs")


def _check_call(api: Api, call: Call) -> None:
    for key, given in (
        ("hot", call.hot),
        ("fortran", call.fortran),
        ("returns_twice", call.by_hand),
        ("row", not call.row),
    ):
        if given:
            raise CatalogError(api.path, call.op, key, "is for built-in catalogs")
    if call.by not in WAYS:
        problem = f"'{call.by}' is neither fd nor path; a handle goes by the key 'handle'"
        raise CatalogError(api.path, call.op, "by", problem)
    for key, hook in (("before", call.before), ("after", call.after)):
        if hook and not (is_statement(hook) and hook.partition("(")[0].strip() in HOOKS):
            problem = f"'{hook}' is none of {', '.join(HOOKS[:2])} with its arguments"
            raise CatalogError(api.path, call.op, key, problem)
    if not any(call.symbols()):
        raise CatalogError(api.path, call.op, "symbols", "is missing: which function is it?")


def compiler() -> list[str]:
    """$CC, else cc, gcc or clang."""
    named = shlex.split(os.environ.get("CC", ""))
    if named:
        return named
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    raise BuildError("no C compiler here (cc, gcc, clang): install one, or name it in CC")


def build(catalog: Catalog, runtime: Path, out: Path) -> None:
    """Make the library; `out` appears whole or not at all, also where several do this at once."""
    with tempfile.TemporaryDirectory(prefix="fathom-probes.") as name:
        place = Path(name)
        generate.generate(catalog, place)
        (place / "probes.c").write_text(_whole(catalog, place), encoding="utf-8")
        includes = (f"-I{runtime}", "-I.")
        with replacing(out) as partial:
            words = [*compiler(), *FLAGS.split(), *includes, "probes.c", "-o", str(partial)]
            compile_in(place, words, catalog)


def _whole(catalog: Catalog, place: Path) -> str:
    """One file of all that was generated, with lines that lead the compiler's errors to the rows."""
    lines = ["#include <fcntl.h>", '#include "user/probe.h"', '#include "handlers.h"']
    for api in catalog.apis:
        lines += _declarations(api, "args", lambda symbol: f"declared_{symbol}", extern=True)
    lines.append('#include "tables.c"')
    for api in catalog.apis:
        text = (place / f"wrappers_{api.path.stem}.c").read_text(encoding="utf-8")
        for line in text.splitlines():
            row = _ROW.fullmatch(line)
            lines.append(_at(api, row[1]) if row else line)
    return "\n".join([*lines, '#include "user/probe_glue.c"', ""])


def _at(api: Api, row: str) -> str:
    """The compiler takes what follows for line 1 of this file."""
    return f"# 1 {json.dumps(f'{api.path}: {row}', ensure_ascii=False)}"


def _declarations(
    api: Api, key: str, name: Callable[[str], str], *, extern: bool = False
) -> Iterable[str]:
    """Each symbol's prototype, at a line that names its row."""
    for call in api.calls:
        for form in call.forms:
            result = call.result.type if call.result else "void"
            parameters = ", ".join(declare(form.parameters, form.variadic))
            for symbol in form.symbols:
                yield _at(api, f"{call.op} {key}")
                if extern:
                    yield f"extern {join_type(result, name(symbol))}({parameters});"
                else:
                    yield f"{join_type(result, f'(*{name(symbol)})')}({parameters}) = {symbol};"


def compile_in(place: Path, command: Sequence[str], catalog: Catalog) -> None:
    """Run the compiler; its first error is the reason given, with the row it comes from."""
    try:
        done = subprocess.run(
            command,
            cwd=place,
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
    except OSError as error:
        raise BuildError(f"{command[0]}: {error.strerror}") from error
    if done.returncode == 0:
        return
    lines = done.stderr.splitlines()
    errors = [line for word in _ERRORS for line in lines if word in line]
    reason = (errors or lines or ["no reason given"])[0].strip()
    files = " ".join(str(api.path) for api in catalog.apis)
    located = _PLACE.fullmatch(reason)
    if located and any(located[1].startswith(f"{api.path}: ") for api in catalog.apis):
        raise BuildError(f"{located[1]}: the C compiler says: {located[2]}")
    raise BuildError(f"{files}: the C compiler says: {reason}")


def check_headers(api: Api, flags: Sequence[str] = ()) -> None:
    """Compare the prototypes with those of the library's own headers, which the file names."""
    lines = [f"#include <{name}>" for name in (*api.system, *api.headers)]
    lines += _declarations(api, "args", lambda symbol: f"check_{symbol}")
    with tempfile.TemporaryDirectory(prefix="fathom-probes.") as name:
        place = Path(name)
        (place / "check.c").write_text("\n".join(lines) + "\n", encoding="utf-8")
        strict = ["-std=gnu11", "-D_GNU_SOURCE", "-Werror=incompatible-pointer-types"]
        command = [*compiler(), *strict, *flags, "-c", "check.c", "-o", "/dev/null"]
        compile_in(place, command, Catalog((api,)))
