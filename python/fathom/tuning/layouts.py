"""Layouts of directories, by extended attributes, before anything is written there; read back."""

import os

from fathom.errors import FathomError
from fathom.tuning.settings import Layout, Settings


def apply(settings: Settings) -> list[str]:
    """Sets them all; a line for each, as it is read back."""
    return [line for layout in settings.layouts for line in _apply(layout)]


def _apply(layout: Layout) -> list[str]:
    said = []
    for one in layout.settings:
        name = one.knob.attribute
        try:
            os.setxattr(layout.directory, name, one.text.encode())
            now = os.getxattr(layout.directory, name).decode()
        except OSError as error:
            why = f"{layout.directory}: cannot set {name} = {one.text}: {error.strerror}"
            raise FathomError(
                f"{why}; is it a directory of a file system that has layouts?"
            ) from error
        said.append(f"{layout.directory}: {name} = {now}")
    return said
