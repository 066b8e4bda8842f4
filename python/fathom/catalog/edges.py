"""Numbers the wrappers: one for each symbol and copy, in the order of the catalog."""

from __future__ import annotations

from dataclasses import dataclass

from .model import LAYERS, Api, Call, Catalog, Form


@dataclass(frozen=True)
class Edge:
    """One symbol that modules import, and the first of its `copies` wrappers."""

    api: Api
    api_index: int
    call: Call
    form: Form | None  # None: the entry of a Fortran binding
    symbol: str
    first: int
    copies: int
    other: tuple[Api, Call] | None = None  # who takes the calls that `when` refuses

    @property
    def layers(self) -> int:
        """The layers for whose sake the symbol is pointed to us, a bit each."""
        also = 1 << LAYERS[self.call.keeps] if self.call.keeps else 0
        return 1 << self.api.layer_number | also

    def number_name(self, copy: int) -> str:
        """The enumerator of a wrapper's number."""
        return f"EDGE_{self._inside}{self.symbol}_{copy}"

    def function(self, copy: int) -> str:
        """The C name of a wrapper."""
        return f"{'wrap' if self.form else 'entry'}_{self._inside}{self.symbol}_{copy}"

    @property
    def _inside(self) -> str:
        return f"{self.api.c_name}_" if self.api.inside else ""


def op_name(api: Api, call: Call) -> str:
    """The enumerator of an op's number."""
    return f"OP_{api.layer}_{call.op}".upper()


def edges(catalog: Catalog) -> list[Edge]:
    """Every edge, numbered from 0."""
    numbered: list[Edge] = []
    number = 0
    rows = {
        (api.layer, call.op): (api, call)
        for api in catalog.apis
        if not api.inside
        for call in api.calls
    }
    for index, api in enumerate(catalog.apis):
        for call in api.calls:
            if call.by_hand:
                continue
            pairs: list[tuple[Form | None, str]] = [
                (form, name) for form in call.forms for name in form.symbols
            ]
            pairs += [(None, name) for name in call.fortran]
            for form, symbol in pairs:
                other = rows.get((call.otherwise, call.op))
                numbered.append(Edge(api, index, call, form, symbol, number, api.copies, other))
                number += api.copies
    return numbered
