"""The probe catalogue: loader, and emitters of wrappers, tables and reference pages.

Needs the standard library only: it runs while Fathom is being built.
"""

from .load import load
from .model import Api, Call, Catalogue, CatalogueError

__all__ = ["Api", "Call", "Catalogue", "CatalogueError", "load"]
