"""Layouts of directories, by extended attributes, before anything is written there; read back."""

import os

from fathom.errors import FathomError
from fathom.tune.settings.settings import Layout, Settings


def apply(settings: Settings) -> list[str]:
    """Sets them all; a line for each, as it is read back."""
    return [_apply(layout) for layout in settings.layouts]


def _apply(layout: Layout) -> str:
    """All fields at once: one alone may not fit those that are in force."""
    name = layout.settings[0].knob.attribute.rpartition(".")[0]
    fields = {setting.knob.name: setting.text for setting in layout.settings}
    wanted = " ".join(f"{field}={value}" for field, value in fields.items())
    try:
        os.setxattr(layout.directory, name, wanted.encode())
        now = os.getxattr(layout.directory, name).decode()
    except OSError as error:
        why = f"{layout.directory}: cannot set {name} to {wanted}: {error.strerror}"
        raise FathomError(f"{why}; is it a directory of a file system that has layouts?") from error
    in_force = dict(word.partition("=")[::2] for word in now.split())
    for field, value in fields.items():
        if in_force.get(field) != value:
            actual = in_force.get(field, "nothing")
            raise FathomError(
                f"{layout.directory}: {field} is {actual} after it was set to {value}"
            )
    return f"{layout.directory}: {name} is {now}"
