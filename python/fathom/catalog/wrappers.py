"""Emits the wrappers: one C function for each symbol and copy (shape: runtime/core/call.h)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from .ctext import COLUMNS, block, file_text, fold, width
from .edges import Edge, op_name
from .hooks import is_statement
from .model import Api, Call, Family, Form, Parameter
from .prototypes import IDENTIFIER, declare, identifiers, join_type

#: What keeps the position of a row's file, by how the file is named.
POSITIONS = {"fd": "descriptor", "stdio": "stdio"}
_ONE_CALL = re.compile(r"\w+\([^()]*\)")


def wrappers_c(api: Api, edges: Iterable[Edge]) -> str:
    """Text of wrappers_<file>.c."""
    lines = [
        f"/* Wrappers of layer {api.layer}, generated from {catalog_name(api)}. */",
        "#include <errno.h>",
        "",
        '#include "wrappers.h"',
        "",
        '#include "edges/edges.h"',
        '#include "ops.h"',
    ]
    if any(form.va for call in api.calls for form in call.forms):
        lines.insert(2, "#include <stdarg.h>")
    if any(call.hot for call in api.calls):
        lines += ["", '#include "core/hot.h"']
    families: set[tuple[str, int]] = set()
    for edge in edges:
        if edge.api is not api or edge.form is None:
            continue
        family = edge.form.family
        if family and (edge.call.op, family.number) not in families:
            families.add((edge.call.op, family.number))
            lines += ["", *_family_body(edge, edge.form, family)]
        for copy in range(edge.copies):
            lines += ["", *_wrapper(edge, edge.form, copy)]
    return file_text(lines)


def catalog_name(api: Api) -> str:
    """The file's name without the machine's path to it."""
    return f"catalog/probes/{api.path.name}"


def prototype(edge: Edge, copy: int) -> str:
    """Head of a wrapper without parameters: "ssize_t wrap_read_0(" ."""
    result = edge.call.result.type if edge.call.result else "void"
    return join_type(result, edge.function(copy)) + "("


#: The other layer's half of a wrapper: in the same frame, so that call sites stay true.
_OTHER = "static inline __attribute__((always_inline)) "


def _wrapper(edge: Edge, form: Form, copy: int) -> list[str]:
    own = _function(edge, form, copy, prototype(edge, copy))
    if edge.other is None:
        return own
    api, call = edge.other
    other = replace(edge, api=api, call=call, other=None)
    result = call.result.type if call.result else "void"
    head = f"{_OTHER}{join_type(result, _other_name(edge.number_name(copy)))}("
    return [*_function(other, call.forms[0], copy, head), "", *own]


def _other_name(number: str) -> str:
    return number.replace("EDGE_", "other_", 1)


def _function(edge: Edge, form: Form, copy: int, named: str) -> list[str]:
    head = block(
        f"/* {catalog_name(edge.api)}: {edge.call.op} */",
        fold(named, declare(form.passed, bool(form.va)), ")"),
        "{",
    )
    if edge.call.hot:
        unusual = f"{edge.function(copy)}_unusual"
        body = _Body(edge, form, edge.number_name(copy), "__builtin_return_address(0)")
        counted = f"{edge.function(copy)}_counted"
        return block(
            _unusual(edge, form, copy, unusual),
            "",
            _counted(edge, form, copy, counted, unusual),
            "",
            block(head, body.usual(counted), "}"),
        )
    if form.family:
        return block(head, _pass_on(edge, form, form.family, edge.number_name(copy)), "}")
    body = _Body(edge, form, edge.number_name(copy), "__builtin_return_address(0)")
    return block(head, body.text(), "}")


def _family_name(edge: Edge, family: Family) -> str:
    return f"family_{edge.call.op}_{family.number}"


def _family_body(edge: Edge, form: Form, family: Family) -> list[str]:
    """What the wrappers of a family share: to the machine they differ by their number only."""
    given = {name: text for name, text in form.given.items() if name not in family.own}
    common = replace(form, parameters=family.parameters, passed=family.parameters, given=given)
    types = {parameter.name: parameter.type for parameter in edge.call.parameters}
    own = [join_type(types.get(name, "int64_t"), name) for name in family.own]
    result = edge.call.result.type if edge.call.result else "void"
    head = join_type(f"static __attribute__((noinline)) {result}", _family_name(edge, family))
    parameters = [*declare(family.parameters), *own, "uint32_t edge", "const void *site"]
    body = _Body(edge, common, "edge", "site")
    return block(
        f"/* {catalog_name(edge.api)}: {edge.call.op}, of each type */",
        fold(head + "(", parameters, ")"),
        "{",
        body.text(),
        "}",
    )


def _pass_on(edge: Edge, form: Form, family: Family, number: str) -> list[str]:
    arguments = [
        parameter.name if parameter.type == common.type else f"({common.type}){parameter.name}"
        for parameter, common in zip(form.passed, family.parameters, strict=True)
    ]
    arguments += [form.given[name] for name in family.own]
    head = ("return " if edge.call.result else "") + _family_name(edge, family) + "("
    return fold(head, [*arguments, number, "__builtin_return_address(0)"], ");", "\t")


def _unusual(edge: Edge, form: Form, copy: int, name: str) -> list[str]:
    """A hot row's other calls: apart, so that the usual ones need not save their registers."""
    body = _Body(edge, form, edge.number_name(copy), "site", "frame")
    return block(_apart(edge, form, name), "{", body.text(), "}")


def _counted(edge: Edge, form: Form, copy: int, name: str, unusual: str) -> list[str]:
    """A hot row's calls that are counted like earlier ones (core/count.h)."""
    body = _Body(edge, form, edge.number_name(copy), "site", "frame")
    return block(_apart(edge, form, name), "{", body.counted(unusual), "}")


def _apart(edge: Edge, form: Form, name: str) -> list[str]:
    result = edge.call.result.type if edge.call.result else "void"
    head = join_type(f"static __attribute__((noinline)) {result}", name)
    passed = [*declare(form.passed), "const void *frame", "const void *site"]
    return fold(head + "(", passed, ")")


class _Body:
    """The statements of one wrapper."""

    def __init__(
        self,
        edge: Edge,
        form: Form,
        number: str,
        site: str,
        frame: str = "__builtin_frame_address(0)",
    ) -> None:
        self.edge, self.form, self.number = edge, form, number
        self.site, self.frame = site, frame
        self.call: Call = edge.call
        self.given = {**self.call.values, **form.given}
        self.arguments = [parameter.name for parameter in form.passed]
        self.arguments += ["va"] if form.va else []
        result = self.call.result
        self.types: dict[str, Parameter] = {
            parameter.name: parameter for parameter in self.call.parameters
        }
        if result:
            self.types[result.name] = result
        self.size = self._value(self.call.size, "asked") if self.call.size else "0"
        self.offset = self._value(self.call.offset, "at") if self.call.offset else "UNKNOWN_OFFSET"

    def text(self) -> list[str]:
        """Everything between the braces."""
        statements = self.recorded() if self.call.row else self.hooks_only()
        return block(self.declarations(statements), statements)

    def original(self) -> list[str]:
        """What the wrapper calls, as a local."""
        result = self.call.result.type if self.call.result else "void"
        types = [parameter.type for parameter in self.form.parameters]
        head = join_type(result, "(*const real)(")
        original = f"edge_originals[{self.number}];"
        if self.form.variadic:
            types.append("va_list" if self.form.va else "...")
        real = fold(head, types or ["void"], ") =", "	")
        if width(f"{real[-1]} {original}") <= COLUMNS:
            real[-1] += f" {original}"
        else:
            real.append(f"			{original}")
        return real

    def declarations(self, statements: list[str]) -> list[str]:
        """Locals, with those of `given` that the statements need."""
        real = self.original()
        own = self.form.family.own if self.form.family else ()
        used = set(IDENTIFIER.findall("\n".join(statements) + self.call.size + self.call.offset))
        given = [
            f"\t{'' if '*' in self._type(name) else 'const '}{join_type(self._type(name), name)} = {text};"
            for name, text in self.given.items()
            if name in used and name not in own
        ]
        variable = ["\tva_list va;"] if self.form.va else []
        lines = block(real, given, variable)
        start = [f"\tva_start(va, {self.form.passed[-1].name});"] if variable else []
        if not self.call.row:
            return [*lines, "", *start]
        if not self.call.when:
            lines += self._wanted()
        tuned = ["\tstruct tuned tuned;"] if self.call.tune else []
        return [*lines, "\tstruct call c;", *tuned, "", *start]

    def hooks_only(self) -> list[str]:
        """A row that is not recorded: only its hooks run."""
        if self.call.after or self.form.va:
            return block(self._before(), self._result(), self._after(), self._return())
        return block(
            self._before(),
            fold("return real(" if self.call.result else "real(", self.arguments, ");", "\t"),
        )

    def recorded(self) -> list[str]:
        """Enter, call the original, leave."""
        call = self.call
        lines: list[str] = []
        if call.hot:
            lines += block(self._find("true"), "", "\tif (hot.usual) {")
            lines += block(self._usual("true", "\t\t", []), "\t}")
        lines += self._tune()
        if call.when:
            gate = "" if call.always else f"!layer_on({self.edge.api.layer_number}) || "
            lines += self._unless(f"\tif ({gate}!({self._own(call.when)}))", True)
            lines += self._wanted()
        if call.always:
            lines += self._enter("\tconst bool recorded = ", ";")
        else:
            *head, last = self._enter("\tif (!", ") {")
            lines += head + self._unless(last.removesuffix(" {"))
        if call.clears_errno:
            lines += ["\tconst int errno_before = errno;", "", "\terrno = 0;"]
        lines += block(
            self._number_for_hooks(),
            self._before(),
            self._result(),
            "\tconst uint64_t ended = ticks_now();",
            "",
            self._advance("\t"),
        )
        filled = self._error() + self._fields()
        if call.always:
            lines += _when_recorded(filled)
            lines += block(self._after(), self._tuned("&c"), _when_recorded(self._leave()))
        else:
            lines += block(filled, self._after(), self._tuned("&c"), self._leave())
        return lines + self._return()

    def usual(self, unusual: str) -> list[str]:
        """A hot row's outermost calls that are like earlier ones (core/hot.h); others go to `unusual`."""
        rest = [*self.arguments, self.frame, self.site]
        return block(
            self._find("false"),
            "",
            "\tif (__builtin_expect(!hot.usual, 0))",
            fold(f"return {unusual}(", rest, ");", "\t\t"),
            self._wanted(),
            self._usual("false", "\t", self.original()),
        )

    def counted(self, unusual: str) -> list[str]:
        """A hot row's calls that have no row, and a place where they are counted; others go to `unusual`."""
        assert self.call.result is not None
        op = op_name(self.edge.api, self.call)
        find = [op, self.call.file, self.call.buffer or "0", self.frame]
        leave = ["counting", self.size, self.offset]
        leave += [self._cast(self.call.result.name), "ended"]
        return block(
            self.original(),
            fold("struct counting counting = hot_count_find(", find, ");", "\t"),
            "",
            "\tif (!counting.place)",
            fold(f"return {unusual}(", [*self.arguments, self.frame, self.site], ");", "\t\t"),
            self._wanted(),
            "\tcount_begin(&counting);",
            self._result(),
            "\tconst uint64_t ended = ticks_raw();",
            "",
            self._advance("\t"),
            fold("return hot_count_leave(", leave, ");", "\t"),
        )

    def _find(self, inside: str) -> list[str]:
        arguments = [op_name(self.edge.api, self.call), self.call.file, self.call.buffer or "0"]
        arguments += [self.frame, self.site, inside]
        return fold("const struct hot_call hot = hot_find(", arguments, ");", "\t")

    def _usual(self, inside: str, indent: str, original: list[str]) -> list[str]:
        """Nothing is kept but the row of the open call."""
        assert self.call.result is not None
        at = "&at" if self.offset == "at" else "NULL"
        name = self._cast(self.call.result.name)
        return block(
            fold("hot_enter(", ["hot", self.size, self.offset, self.frame, inside], ");", indent),
            original,
            [indent + line.removeprefix("\t") for line in self._result()],
            f"{indent}const uint64_t ended = ticks_raw();",
            "",
            self._advance(indent),
            fold("return hot_leave(", ["hot", at, name, self.frame, "ended", inside], ");", indent),
        )

    def _leave(self) -> list[str]:
        if self.call.before or self.call.after:
            return ["\t(c.cancel ? call_cancel : call_leave)(&c, ended);"]
        if self.call.hot:
            return ["\tcall_leave(&c, ended);", f"\thot_learn(&c, {self.call.file}, site);"]
        return ["\tcall_leave(&c, ended);"]

    def _unless(self, condition: str, other: bool = False) -> list[str]:
        """A condition under which the call is not ours, and what is done then."""
        if other and self.edge.other:
            head = f"return {_other_name(self.number)}("
            return [condition, *fold(head, self.arguments, ");", "\t\t")]
        statements = self._pass_through("\t\t")
        if len(statements) == 1:
            return [condition, *statements]
        return [condition + " {", *statements, "\t}"]

    def _pass_through(self, indent: str) -> list[str]:
        """The call as if the wrapper were not there; only a tracked position goes on."""
        call = self.call
        if call.tune:
            return block(
                self._result(indent),
                "",
                self._tuned("NULL", indent),
                [indent + line.lstrip("\t") for line in self._return()],
            )
        if call.result and not call.at_position and not self.form.va:
            return fold("return real(", self.arguments, ");", indent)
        return block(
            self._result(indent),
            "" if call.at_position else [],
            self._advance(indent, ""),
            f"{indent}return {call.result.name};" if call.result else f"{indent}return;",
        )

    def _real(self, head: str, indent: str = "\t") -> list[str]:
        """The call of the original."""
        lines = fold(head + "real(", self.arguments, ");", indent)
        return [*lines, indent + "va_end(va);"] if self.form.va else lines

    def _wanted(self) -> list[str]:
        """What was asked for, as it was before the call."""
        lines = []
        if self.size == "asked":
            lines.append(f"\tconst int64_t asked = {self._own(self.call.size)};")
        if self.offset == "at":
            text = (
                f"{POSITIONS[self.call.by]}_position({self.call.file})"
                if self.call.at_position
                else self._own(self.call.offset)
            )
            lines.append(f"\t{'' if self.call.at_position else 'const '}int64_t at = {text};")
        return lines

    def _enter(self, head: str, tail: str) -> list[str]:
        object_ = self._own(self.call.object) if self.call.object else "0"
        op = self._own(self.call.op_by) or op_name(self.edge.api, self.call)
        items = ["&c", op, object_, self.size, self.offset]
        items += [self.frame, self.site]
        return fold(head.lstrip("\t") + "call_enter(", items, ")" + tail, "\t")

    def _number_for_hooks(self) -> list[str]:
        asks = any("c" in identifiers(field.expression) for field in self.call.fields)
        if asks or self.call.before or self.call.after:
            return [f"\tc.wrapper = {self.number};"]
        return []

    def _before(self) -> list[str]:
        changes = self.call.before_changes
        names = ["&" + p.name if p.name in changes else p.name for p in self.call.parameters]
        return self._hook(self.call.before, names)

    def _tune(self) -> list[str]:
        """A run's settings take the place of arguments."""
        if not self.call.tune:
            return []
        head = ["\tconst bool tunes = tune_wanted(&tuned);", "", "\tif (tunes)"]
        return [*head, *self._hook(self.call.tune, [], "\t\t")]

    def _tuned(self, call: str, indent: str = "\t") -> list[str]:
        """What was set is told, and our copies are given back."""
        if not self.call.tune:
            return []
        end = f"{indent}\ttune_end(&tuned, {call});"
        if not self.call.tuned:
            return [f"{indent}if (tunes)", end]
        noted = self._hook(self.call.tuned, [], f"{indent}\t")
        return [f"{indent}if (tunes) {{", *noted, end, f"{indent}}}"]

    def _after(self) -> list[str]:
        names = [self.call.result.name] if self.call.result else []
        return self._hook(
            self.call.after, names + [parameter.name for parameter in self.call.parameters]
        )

    def _hook(self, hook: str, names: list[str], indent: str = "\t") -> list[str]:
        if not hook:
            return []
        if is_statement(hook):
            head, _, rest = self._own(hook).partition("(")
            return fold(f"{head}(", rest.split(", "), ";", indent)
        return fold(f"{hook}(", ["&c" if self.call.row else "NULL", *names], ");", indent)

    def _result(self, indent: str = "\t") -> list[str]:
        result = self.call.result
        return self._real(f"{join_type(result.type, result.name)} = " if result else "", indent)

    def _advance(self, indent: str, head: str = "at = ") -> list[str]:
        """The position goes on; how far a stream's went is computed once, for the field too."""
        call = self.call
        if not call.at_position:
            return []
        if call.by == "fd" and call.result:
            moved = f"{call.result.name} > 0 ? {call.result.name} : 0"
            return [f"{indent}{head}descriptor_advance({call.file}, at, {moved});"]
        return block(
            [f"{indent}const int64_t went = {self._own(call.moved)};", ""] if call.moved else [],
            fold(f"{head}stdio_advance(", [call.file, "at", call.moves or "went"], ");", indent),
        )

    def _error(self) -> list[str]:
        call = self.call
        if call.error == "none" or call.result is None:
            return []
        name = call.result.name
        if call.error == "nonzero" and not call.fails:
            return [f"\tc.error = (int32_t){name};"]
        fails = self._own(call.failure())
        value = {
            "errno": "errno",
            "nonzero": f"(int32_t){name}",
            "negative": "1",
            "minus_errno": f"-{name}",
        }[call.error]
        lines = [f"\tif ({fails})", f"\t\tc.error = {value};"]
        if call.clears_errno:
            lines += ["\tif (errno == 0)", "\t\terrno = errno_before;"]
        return lines

    def _fields(self) -> list[str]:
        lines = []
        for number, field in enumerate(self.call.fields):
            if field.name == "size" and field.expression == self.call.size:
                value = self.size
            elif field.name == "offset" and field.expression == self.call.offset:
                value = self.offset
            elif field.name == "bytes" and self.call.at_position and self.call.by == "stdio":
                value = "went"  # _advance computed it
            else:
                value = self._cast(field.expression)
            head, _, rest = value.removeprefix("(int64_t)").partition("(")
            if rest and value.startswith(f"(int64_t){head}(") and head.isidentifier():
                head = f"c.field[{number}] = (int64_t){head}("
                lines += fold(head, rest.split(", "), ";", "\t")
            else:
                lines.append(f"\tc.field[{number}] = {value};")
        if self.call.buffer:
            odd = f"{self._own(self.call.buffer)} & 7"
            lines += [f"\tif (!c.error && ({odd}))", "\t\tcall_misaligned(&c);"]
        return lines

    def _return(self) -> list[str]:
        return [f"\treturn {self.call.result.name};"] if self.call.result else []

    def _type(self, name: str) -> str:
        """Of an argument of the row, or of one of its further `values`."""
        return self.types[name].type if name in self.types else "int64_t"

    def _value(self, expression: str, local: str) -> str:
        """A plain argument is used as it stands; anything else is computed once, into a local."""
        plain = self.types.get(expression)
        return self._cast(expression) if plain and not plain.is_pointer else local

    def _own(self, expression: str) -> str:
        """The expression with `wrapper` as this wrapper's number and `c` as its call."""
        words = {"wrapper": self.number, "c": "&c" if self.call.row else "NULL"}
        if not identifiers(expression) & words.keys():
            return expression
        return IDENTIFIER.sub(lambda word: words.get(word[0], word[0]), expression)

    def _cast(self, expression: str) -> str:
        plain = self.types.get(expression)
        if plain is not None:
            return f"(int64_t){'(intptr_t)' if plain.is_pointer else ''}{expression}"
        if expression.lstrip("-").isdigit():
            return expression
        text = self._own(expression)
        return f"(int64_t){text}" if _ONE_CALL.fullmatch(text) else f"(int64_t)({text})"


def _when_recorded(statements: list[str]) -> list[str]:
    if len(statements) < 2:
        return ["\tif (recorded)", *("\t" + line for line in statements)] if statements else []
    return ["\tif (recorded) {", *("\t" + line for line in statements), "\t}"]


def longest(text: str) -> int:
    """The widest line, for the test that generated code keeps to the column limit."""
    return max(width(line) for line in text.splitlines())
