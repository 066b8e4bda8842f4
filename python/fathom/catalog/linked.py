"""What `fathom cc` needs: the slots of a static program, and how GNU's compilers are told of them."""

from __future__ import annotations

import re
from pathlib import Path

from .ctext import file_text
from .edges import edges
from .model import Catalog

#: Names that libc's members call each other by. A program's own calls bear them only where a header says so: checked
#: forms, and those of a newer standard.
_LIBC_INSIDE = re.compile(r"_IO_|__(?!isoc)(?!\w*_(chk|2)$)")
#: Compilers' own libraries have weak references to these, which would find no slot.
_LEFT_OUT = ("threads",)
#: What libgfortran and libstdc++ ask of threads, by weak references: of all of it or of nothing (GCC's gthr-posix.h).
#: They take our own use of keys for all of it.
_WEAK = (
    "pthread_once pthread_getspecific pthread_setspecific pthread_create pthread_join pthread_equal pthread_self "
    "pthread_detach pthread_cancel sched_yield pthread_mutex_lock pthread_mutex_trylock pthread_mutex_timedlock "
    "pthread_mutex_unlock pthread_mutex_init pthread_mutex_destroy pthread_cond_init pthread_cond_broadcast "
    "pthread_cond_signal pthread_cond_wait pthread_cond_timedwait pthread_cond_destroy pthread_key_create "
    "pthread_key_delete pthread_mutexattr_init pthread_mutexattr_settype pthread_mutexattr_destroy "
    "pthread_rwlock_rdlock pthread_rwlock_tryrdlock pthread_rwlock_wrlock "
    "pthread_rwlock_trywrlock pthread_rwlock_unlock"
).split()
#: Names that compilers of long ago gave Fortran's procedures.
_OLD_FORTRAN = re.compile(r"\w+__$")
#: What handlers ask a library for by its name (runtime/handlers/*library*.c, mpi_abi.c).
_ASKED = re.compile(r'"((?:PMPI_|H5|nc_inq|ncmpi_inq)\w+)"')
_HOOK = re.compile(r'^\t\{"(\w+)"', re.MULTILINE)
#: The list forms of exec end in one that takes an array (runtime/edges/process_hooks.c).
_REAL = {"execl": "execv", "execlp": "execvp", "execle": "execve"}

# A static link alone: it reads libraries again until nothing is missing, for slots ask for what they stand before.
_SPECS = """\
*link:
+ %{{static|static-pie:--start-group {options}}}

*link_gcc_c_sequence:
%{{static|static-pie:-lfathom-static}} %G %{{!nolibc:%L}} \
%{{static|static-pie:--end-group -lfathom-names; :%G}}

"""

_SCRIPT = "/* What handlers ask libraries for, where the program has no such library. A linker script. */\n"


def linked(catalog: Catalog, runtime: Path) -> dict[str, str]:
    """Files by name: slots.txt, names.c, and for the linker fathom.specs, fathom.ld, libfathom-names.a."""
    slots = {
        edge.symbol: (edge.form and edge.form.va) or edge.symbol
        for edge in edges(catalog)
        if edge.api.layer not in _LEFT_OUT
    }
    for source in ("process_hooks.c", "confined.c", "jumps.c"):
        for name in _HOOK.findall((runtime / "edges" / source).read_text(encoding="utf-8")):
            slots[name] = _REAL.get(name, slots.get(name, name))
    slots = {name: real for name, real in sorted(slots.items()) if _is_called(name)}
    names = sorted(
        {
            name
            for source in (runtime / "handlers").glob("*.c")
            for name in _ASKED.findall(source.read_text(encoding="utf-8"))
        }
    )
    options = [f"--undefined={name}" for name in _WEAK] + [f"--wrap={name}" for name in slots]
    return {
        "slots.txt": "".join(f"{name} {real}\n" for name, real in slots.items()),
        "names.c": _names_c(names),
        "libfathom-names.a": _SCRIPT + "".join(f"PROVIDE({name} = 0);\n" for name in names),
        "fathom.specs": _SPECS.format(options=" ".join(options)),
        "fathom.ld": "\n".join(options) + "\n",
    }


def _is_called(name: str) -> bool:
    return not _LIBC_INSIDE.match(name) and not _OLD_FORTRAN.match(name)


def _names_c(names: list[str]) -> str:
    return file_text(
        [
            "/* What handlers ask libraries for, 0 where it is not in the program. Generated from runtime/handlers. */",
            '#include "linked/linked.h"',
            "",
            *(f"extern char {name}[];" for name in names),
            "",
            "const struct linked_name linked_names[] = {",
            *(f'\t{{"{name}", {name}}},' for name in names),
            "};",
            f"const uint32_t linked_names_count = {len(names)};",
        ]
    )
