"""run.json of a copy: only keys that are known, so that what a later version adds is left out and not passed on."""

from collections.abc import Callable, Mapping
from typing import Any

from fathom.run.anonymise.names import Names
from fathom.run.manifest import Manifest

Change = Callable[[Any], Any]


def _as_it_is(value: Any) -> Any:
    return value


def changed(manifest: Manifest, names: Names) -> Manifest:
    """What docs/run-json.md lists, by whose it is."""
    return _keys(manifest, _manifest(names))


def keys(names: Names) -> set[str]:
    """All that a copy can have, but for those of `environment` and `mounts`."""
    described = (_manifest, _configuration, _versions, _node, _cut)
    return {"status", "signal", *(key for part in described for key in part(names))}


def _manifest(names: Names) -> Mapping[str, Change]:
    as_it_is = ("format", "fathom", "recorder", "launcher", "start_ns", "end_ns", "pid", "exit")
    return {
        **dict.fromkeys((*as_it_is, "attached"), _as_it_is),
        "id": names.identity,
        "job": names.identity,
        "program": names.path,
        "command": _each(names.arguments),
        "directory": names.path,
        "user": names.number,
        "environment": lambda of: {name: names.arguments(value) for name, value in of.items()},
        "configuration": lambda of: _keys(of, _configuration(names)),
        "nodes": _each(lambda one: _keys(one, _node(names))),
        "versions": lambda of: _keys(of, _versions(names)),
        "mounts": lambda of: {names.path(at): _mount(on, names) for at, on in of.items()},
        "layers_fired": _each(names.word),
        "cut": _each(lambda one: _keys(one, _cut(names))),
    }


def _configuration(names: Names) -> Mapping[str, Change]:
    return {
        **dict.fromkeys(("level", "budget", "ranks", "sample", "tunable"), _as_it_is),
        "layers": _each(names.word),
        "counted": _each(names.word),
        "layers_asked": names.text,
        "files": _each(names.path),
    }


def _versions(names: Names) -> Mapping[str, Change]:
    return {"libc": names.text, "kernel": names.text}


def _node(names: Names) -> Mapping[str, Change]:
    return {
        **dict.fromkeys(("clock", "tsc_hz", "processors"), _as_it_is),
        "host": names.host,
        "boot_id": names.host,
        "kernel": names.text,
    }


def _cut(names: Names) -> Mapping[str, Change]:
    return {
        **dict.fromkeys(("processes", "count"), _as_it_is),
        "kind": names.note,
        "detail": names.note,
    }


def _mount(on: list[str | None], names: Names) -> list[str | None]:
    """Type, and mount point."""
    return [word if word is None or at == 0 else names.path(word) for at, word in enumerate(on)]


def _each(change: Change) -> Change:
    return lambda values: [change(value) for value in values]


def _keys(of: Mapping[str, Any], changes: Mapping[str, Change]) -> dict[str, Any]:
    return {
        key: None if of[key] is None else change(of[key])
        for key, change in changes.items()
        if key in of
    }
