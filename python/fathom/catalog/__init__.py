"""The probe catalog: loader, and emitters of wrappers, tables and reference pages.

Needs the standard library only: it runs while Fathom is being built.
"""

from .load import load
from .model import Api, Call, Catalog, CatalogError

__all__ = ["Api", "Call", "Catalog", "CatalogError", "load"]
