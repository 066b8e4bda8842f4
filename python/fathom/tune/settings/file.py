"""A settings file, read: ours, or the XML of H5Tuner."""

from pathlib import Path

from fathom.errors import UsageError
from fathom.tune.settings import toml
from fathom.tune.settings.settings import Settings


def read(path: Path) -> Settings:
    """A file's settings; raises UsageError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if path.suffix == ".xml":
        from fathom.tune.settings import xml

        return xml.read(str(path), text)
    return toml.read(str(path), text)
