"""Hooks of a row: C functions around its call, and what arguments they take."""

from __future__ import annotations

from collections.abc import Iterable

from .model import Call


def is_statement(hook: str) -> bool:
    """A hook written as a call, "mpi_closed(c)", instead of by its name."""
    return "(" in hook


def named_hooks(call: Call) -> Iterable[tuple[str, str, tuple[str, ...]]]:
    """Key, name and parameter declarations of the hooks that the generator declares."""
    if call.before and not is_statement(call.before):
        yield "before", call.before, hook_signature(call, "before")
    if call.after and not is_statement(call.after):
        yield "after", call.after, hook_signature(call, "after")


def hook_signature(call: Call, key: str) -> tuple[str, ...]:
    """Parameter declarations of a hook, in order."""
    texts = ["struct call *c"]
    if key == "after" and call.result is not None:
        texts.append(call.result.text)
    for parameter in call.parameters:
        if key == "before" and parameter.name in call.before_changes:
            pointer = parameter.type if parameter.type.endswith("*") else parameter.type + " "
            texts.append(f"{pointer}*{parameter.name}")
        else:
            texts.append(parameter.text)
    return tuple(texts)
