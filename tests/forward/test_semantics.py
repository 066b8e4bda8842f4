"""What each call means on forwarded files is what docs/forwarding-semantics.md says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from harness import needs

from .semantics import EXT4, PAGE, PROGRAMS, outcomes, page, reasons
from .test_c_client import serves
from .test_fuse import MOUNTER

pytestmark = pytest.mark.skipif(
    not (serves() and MOUNTER.exists() and (PROGRAMS / "semantics").exists()),
    reason="no fathom-engine forward, no fathom-forward-fuse, or no build/: make build",
)


def test_the_page_is_what_the_checks_do(tmp_path: Path) -> None:
    needs.require(["fuse", "namespaces"])
    kind = subprocess.run(["stat", "-f", "-c", "%t", tmp_path], capture_output=True, text=True)
    if kind.stdout.strip() != EXT4:
        pytest.skip(f"temporary files are on type {kind.stdout.strip()}, the page is about ext4")
    rows = outcomes()
    differs = {row.name: set(row.differs()) for row in rows if row.differs()}
    assert {name: set(why) for name, why in reasons().items()} == differs
    assert page(rows) == PAGE.read_text()
