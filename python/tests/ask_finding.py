"""One finding of the catalog, asked of a run."""

from __future__ import annotations

from typing import Any

from fathom.analysis import findings
from fathom.catalog.layers import catalog_path


def ask(asked: findings.Questions, name: str) -> list[dict[str, Any]]:
    return asked.rows(findings.read(catalog_path("findings", f"{name}.sql")))
