"""A mistake in a specification: where it is, what is wrong, what to do."""

from dataclasses import dataclass

from fathom.errors import FathomError


@dataclass(frozen=True)
class Place:
    """A column of a line of a file; both count from 1."""

    path: str
    line: int
    column: int
    text: str  # the whole line

    def caret(self) -> str:
        """The line, and below it a caret at the column."""
        before = self.text[: self.column - 1]
        blank = "".join("\t" if letter == "\t" else " " for letter in before)
        return f"  {self.text}\n  {blank}^"


class Mistake(FathomError):
    """What is wrong in a specification. `picture` shows the decomposition where that helps."""

    status = 2

    def __init__(self, place: Place, what: str, remedy: str, picture: str = "") -> None:
        self.place, self.what, self.remedy, self.picture = place, what, remedy, picture
        lines = [f"{place.path}:{place.line}:{place.column}: {what}", place.caret()]
        if picture:
            lines.append(picture)
        super().__init__("\n".join([*lines, f"  → {remedy}"]))
