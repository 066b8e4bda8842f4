"""A block's text to its statements, by hints.lark."""

from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import Any

from lark import Lark, Token, Transformer, Tree, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, VisitError

from fathom.codegen.generate.language import expression as ex
from fathom.codegen.generate.language import statements as st
from fathom.codegen.generate.language.mistake import Mistake, Place
from fathom.codegen.generate.language.source import Block, Source

#: How a statement of each block is written: the remedy of most mistakes. The grammar has a start for each.
FORMS = {
    "parameters": "NAME: VALUE;",
    "types": "NAME: TYPE MEMBER, TYPE MEMBER[LENGTH], …;",
    "dimensions": "NAME: LENGTH;   or   NAME: unlimited;",
    "variables": 'NAME: TYPE, RANK, DIMENSION, …;   or   NAME as "PATH": TYPE, …;',
    "attributes": "NAME: VARIABLE or global, TYPE, VALUE, …;",
    "options": "NAME: VALUE;",
    "layout": "NAME: VALUE;",
    "accesses": "array: PROCESS or *, VARIABLE, START, COUNT, …, BUFFER;   or global:, list:",
}
NESTED = 100  # parentheses within each other, at most


@cache
def _parser() -> Lark:
    grammar = (
        resources.files("fathom.codegen.generate.language")
        .joinpath("hints.lark")
        .read_text("utf-8")
    )
    return Lark(grammar, parser="lalr", start=[*FORMS], propagate_positions=True)


def parse(source: Source, block: Block) -> list[st.Statement]:
    """The statements of a block; Mistake where it cannot be read."""
    start = "accesses" if block.kind in ("write", "read") else block.kind
    _check_nesting(source, block)
    try:
        tree = _parser().parse(block.text, start=start)
        statements: list[st.Statement] = _Maker(_places(source, block)).transform(tree)
    except UnexpectedInput as error:
        raise _unexpected(source, block, start, error) from None
    except VisitError as error:
        if isinstance(error.orig_exc, Mistake):
            raise error.orig_exc from None
        raise
    return statements


def _places(source: Source, block: Block) -> Callable[[int, int], Place]:
    return lambda line, column: source.place(block.first + line, column)


def _check_nesting(source: Source, block: Block) -> None:
    """So that no text, however odd, exhausts the stack."""
    depth = 0
    for number, line in enumerate(block.text.split("\n"), 1):
        for column, letter in enumerate(line, 1):
            depth += {"(": 1, ")": -1}.get(letter, 0)
            signs = column > NESTED and set(line[column - NESTED : column]) <= {"-"}
            if depth > NESTED or signs:
                raise Mistake(
                    source.place(block.first + number, column),
                    f"more than {NESTED} parentheses or signs within each other",
                    "write the expression shorter",
                )


def _unexpected(source: Source, block: Block, start: str, error: UnexpectedInput) -> Mistake:
    """Says what stood there, and what a statement looks like."""
    form = f"a statement here is: {FORMS[start]}"
    if isinstance(error, UnexpectedEOF) or (
        getattr(getattr(error, "token", None), "type", "") == "$END"
    ):
        line = source.lines[block.last]
        column = len(line) - len(line.lstrip()) + 1
        return Mistake(
            source.place(block.last, column),
            "the block ends in the middle of a statement",
            f"end the statement with a semicolon; {form}",
        )
    place = source.place(block.first + error.line, error.column)
    if isinstance(error, UnexpectedCharacters):
        letter = block.text[error.pos_in_stream or 0]
        return Mistake(place, f"a letter that has no meaning here: {letter!r}", form)
    what = f"'{getattr(error, 'token', '')}' does not belong here"
    return Mistake(place, what, form)


@v_args(inline=True)
class _Maker(Transformer[Token, list[st.Statement]]):
    """Trees to statements, bottom up."""

    def __init__(self, place: Callable[[int, int], Place]) -> None:
        super().__init__()
        self._place = place

    def _at(self, token: Token) -> Place:
        return self._place(token.line or 1, token.column or 1)

    def _word(self, token: Token) -> st.Word:
        text = token[1:-1] if token.type == "STRING" else str(token)
        return st.Word(text, self._at(token))

    # expressions

    def number(self, token: Token) -> ex.Expression:
        if len(token) > 19:
            raise Mistake(self._at(token), "larger than 64 bits hold", "say a smaller number")
        return ex.Number(self._at(token), int(token))

    def name(self, token: Token) -> ex.Expression:
        return ex.Name(self._at(token), str(token))

    def negative(self, operand: ex.Expression) -> ex.Expression:
        return ex.Negative(operand.place, operand)

    def call(self, function: Token, *arguments: ex.Expression) -> ex.Expression:
        wants = ex.FUNCTIONS.get(str(function))
        if wants is None:
            known = ", ".join(ex.FUNCTIONS)
            raise Mistake(self._at(function), f"no function '{function}'", f"there are {known}")
        if wants != len(arguments):
            raise Mistake(
                self._at(function),
                f"{function} takes {wants} arguments, {len(arguments)} are given",
                "write as many as it takes",
            )
        return ex.Call(self._at(function), str(function), arguments)

    def _binary(self, sign: str, left: ex.Expression, right: ex.Expression) -> ex.Expression:
        return ex.Binary(left.place, sign, left, right)

    def add(self, left: ex.Expression, right: ex.Expression) -> ex.Expression:
        return self._binary("+", left, right)

    def subtract(self, left: ex.Expression, right: ex.Expression) -> ex.Expression:
        return self._binary("-", left, right)

    def multiply(self, left: ex.Expression, right: ex.Expression) -> ex.Expression:
        return self._binary("*", left, right)

    def divide(self, left: ex.Expression, right: ex.Expression) -> ex.Expression:
        return self._binary("/", left, right)

    def remainder(self, left: ex.Expression, right: ex.Expression) -> ex.Expression:
        return self._binary("%", left, right)

    # definitions

    def parameters(self, *tokens: Any) -> list[st.Statement]:
        pairs = zip(tokens[::2], tokens[1::2], strict=True)
        return [self._parameter(self._word(name), value) for name, value in pairs]

    def _parameter(self, name: st.Word, value: ex.Expression | Token | st.Word) -> st.Statement:
        if isinstance(value, ex.Expression):
            return st.Defined(name, value)
        return st.RealLine(name, value if isinstance(value, st.Word) else self._word(value))

    def member(self, kind: Token, name: Token, length: Token | None = None) -> st.MemberPart:
        many = None if length is None else self._word(length)
        return st.MemberPart(self._word(kind), self._word(name), many)

    def compound(self, name: Token, *members: st.MemberPart) -> st.CompoundLine:
        return st.CompoundLine(self._word(name), members)

    def fixed(self, name: Token, length: ex.Expression) -> st.Defined:
        return st.Defined(self._word(name), length)

    def unlimited(self, name: Token) -> st.Defined:
        return st.Defined(self._word(name), None)

    def variable(
        self, name: Token, path: Token | None, kind: Token, rank: Token, *dims: Token
    ) -> st.VariableLine:
        in_file = self._word(path) if path is not None else None
        words = tuple(map(self._word, dims))
        return st.VariableLine(self._word(name), in_file, self._word(kind), self._word(rank), words)

    def plus(self, token: Token) -> st.Word:
        return self._word(token)

    def minus(self, token: Token) -> st.Word:
        return st.Word(f"-{token}", self._at(token))

    def _value(self, one: Token | st.Word | ex.Expression) -> st.Word | ex.Expression:
        """A constant as it was written, else an expression."""
        if isinstance(one, Token):
            return self._word(one)
        if isinstance(one, ex.Number):
            return st.Word(str(one.value), one.place)
        if isinstance(one, ex.Negative) and isinstance(one.operand, ex.Number):
            return st.Word(f"-{one.operand.value}", one.place)
        return one

    def attribute(
        self, name: Token, variable: Token, kind: Token, *values: Any
    ) -> st.AttributeLine:
        numbers = tuple(map(self._value, values))
        return st.AttributeLine(self._word(name), self._word(variable), self._word(kind), numbers)

    def option(self, name: Token, *words: Token) -> st.OptionLine:
        return st.OptionLine(self._word(name), tuple(map(self._word, words)))

    # accesses

    def everyone(self) -> None:
        return None

    def one(self, process: ex.Expression) -> ex.Expression:
        return process

    def tuple(self, *numbers: ex.Expression) -> st.Numbers:
        return numbers

    def sized(self, elements: ex.Expression) -> ex.Expression:
        return elements

    def memory(self, extents: st.Numbers, start: st.Numbers) -> st.MemoryShape:
        return st.MemoryShape(extents, start)

    def item(
        self,
        value: ex.Expression,
        elements: ex.Expression | None = None,
        memory: st.MemoryShape | None = None,
    ) -> st.Item:
        return st.Item(value, elements, memory)

    def array(self, process: ex.Expression | None, name: Token, *items: st.Item) -> st.AccessLine:
        word = self._word(name)
        return st.AccessLine(word.place, "array", process, word, (), items)

    def list(self, process: ex.Expression | None, name: Token, *boxes: Any) -> st.AccessLine:
        word = self._word(name)
        return st.AccessLine(word.place, "list", process, word, boxes[:-1], boxes[-1:])

    def global_(self, name: Token, *boxes: Any) -> st.AccessLine:
        word = self._word(name)
        return st.AccessLine(word.place, "global", None, word, boxes[:-1], boxes[-1:])

    def __default__(self, data: str, children: Any, meta: Any) -> Any:
        name = str(data)
        if name == "global":
            return self.global_(*children)
        if name in FORMS:
            return list(children)
        return Tree(data, children, meta)
