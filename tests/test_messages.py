"""Errors have one form (CONTRIBUTING.md): one line that says what, where and what to do, without manners or riddles."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from harness import paths

LONGEST = 200  # letters; what is filled in counts as two
RAISED = re.compile(r"(Error|Run|Recorded)$")
C_CALL = re.compile(r'\bfail\(\s*\w+,\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
RUST_ERROR = re.compile(r'#\[error\(\s*"((?:[^"\\]|\\.)*)"')
MANNERS = re.compile(
    r"\b(please|sorry|oops|invalid|illegal|bad|error|failed to|unable|said|told|kept|found)\b", re.I
)


def text(node: ast.expr) -> str | None:
    """The words of a message, `{}` for what is filled in; None where they are made elsewhere."""
    match node:
        case ast.Constant(value=str() as words):
            return words
        case ast.JoinedStr(values=values):
            parts = (one.value if isinstance(one, ast.Constant) else "{}" for one in values)
            return "".join(map(str, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            both = text(left), text(right)
            return None if None in both else f"{both[0]}{both[1]}"
    return None


def of_python() -> Iterator[tuple[str, str]]:
    for path in sorted((paths.ROOT / "python/fathom").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and node.exc.args:
                words = text(node.exc.args[0])
                if words is not None and RAISED.search(ast.unparse(node.exc.func)):
                    yield f"{path.name}:{node.lineno}", words


def of_rust() -> Iterator[tuple[str, str]]:
    for path in sorted((paths.ROOT / "engine").glob("*/src/**/*.rs")):
        for words in RUST_ERROR.findall(path.read_text(encoding="utf-8")):
            yield path.name, re.sub(r"\\\n\s*", "", re.sub(r"\{[^{}]*\}", "{}", words))


def of_c() -> Iterator[tuple[str, str]]:
    for path in sorted((paths.ROOT / "runtime/command").glob("*.c")):
        for strings in C_CALL.findall(path.read_text(encoding="utf-8")):
            words = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', strings))
            yield path.name, re.sub(r"%[-.*\w]*[a-z]", "{}", words)


def wrong(words: str) -> str | None:
    """What is wrong with a message."""
    if "\n" in words.removesuffix(":\n{}"):  # a list may follow
        return "more than one line"
    if words.endswith((".", "!")) or "!" in words:
        return "a full stop or an exclamation mark"
    if len(words) > LONGEST:
        return f"more than {LONGEST} letters"
    if re.match(r"[A-Z][a-z]+ (is|was|are|has|does|could|cannot|must)\b", words):
        return "begins as a sentence"
    if manners := MANNERS.search(words):
        return f"has the word '{manners[0]}'"
    return None


def test_every_error_has_the_form() -> None:
    messages = [*of_python(), *of_rust(), *of_c()]
    assert len(messages) > 500
    assert [f"{at}: {why}: {words}" for at, words in messages if (why := wrong(words))] == []
