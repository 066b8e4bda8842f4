"""A run as an OTF2 archive: locations are threads, each call is a region with what it did on its I/O handle."""

from fathom.interop.exports.otf2.write import write

__all__ = ["write"]
