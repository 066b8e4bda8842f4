"""What an emitter hands back."""

from dataclasses import dataclass

from fathom.codegen.generate.emit.context import PointText


@dataclass(frozen=True)
class Files:
    """Texts by file name, and the functions that the program calls."""

    texts: dict[str, str]
    points: list[PointText]
