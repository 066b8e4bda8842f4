"""What only shows when all files are seen: layers, ops, symbols and hooks that collide."""

from __future__ import annotations

from pathlib import Path

from .hooks import named_hooks
from .model import Api, CatalogError


def check_together(apis: tuple[Api, ...]) -> None:
    """What only shows when all files are seen: layers, ops, symbols and hooks that collide."""
    _check_layers(apis)
    _check_symbols(apis)
    _check_otherwise(apis)
    hooks: dict[str, tuple[str, tuple[str, ...]]] = {}
    types: dict[str, str] = {}
    for api in apis:
        for name, c_type in api.types.items():
            if types.setdefault(name, c_type) != c_type:
                raise CatalogError(
                    api.path, "[api]", "types", f"'{name}' is '{types[name]}' elsewhere"
                )
        for call in api.calls:
            for key, hook, signature in named_hooks(call):
                first, before = hooks.setdefault(hook, (call.op, signature))
                if before != signature:
                    raise CatalogError(
                        api.path,
                        call.op,
                        key,
                        f"hook '{hook}' has other arguments in {first}; give it another name",
                    )


def _check_layers(apis: tuple[Api, ...]) -> None:
    """A layer may have several files; an op is in one of them."""
    names: dict[str, Path] = {}
    ops: dict[tuple[str, str], Path] = {}
    for api in apis:
        if names.setdefault(api.c_name, api.path) != api.path:
            raise CatalogError(
                api.path, "[api]", "file", f"has the name of {names[api.c_name]}; call it otherwise"
            )
        for call in api.recorded():
            if ops.setdefault((api.layer, call.op), api.path) != api.path:
                raise CatalogError(api.path, call.op, "op", f"is also in {ops[api.layer, call.op]}")


def _check_symbols(apis: tuple[Api, ...]) -> None:
    """A module's slot has one wrapper: a symbol is in one file, and once in each that looks inside."""
    symbols: dict[tuple[str, str], tuple[Path, str]] = {}
    for api in apis:
        for call in api.calls:
            for symbol in call.symbols():
                key = api.c_name if api.inside else "", symbol
                if key in symbols:
                    path, op = symbols[key]
                    raise CatalogError(
                        api.path, call.op, "symbols", f"'{symbol}' is also in {op} of {path}"
                    )
                symbols[key] = (api.path, call.op)
                if symbol in api.left_out:
                    raise CatalogError(
                        api.path, call.op, "symbols", f"'{symbol}' is also in left_out"
                    )


def _check_otherwise(apis: tuple[Api, ...]) -> None:
    """Where a row hands its call on, the other layer's row of that op takes the same arguments."""
    calls = {(api.layer, call.op): call for api in apis if not api.inside for call in api.calls}
    layers = {api.layer for api in apis}
    for api in apis:
        for call in api.calls:
            if call.otherwise not in layers:
                continue  # a catalog without that layer's file: the call passes through
            other = calls.get((call.otherwise, call.op))
            if other is None or other.parameters != call.parameters or other.result != call.result:
                raise CatalogError(
                    api.path,
                    call.op,
                    "otherwise",
                    f"layer {call.otherwise} has no row of this name, arguments and result",
                )
