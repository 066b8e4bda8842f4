"""The first screen of ten runs and more is word for word what somebody looked at: harness/golden.py."""

from pathlib import Path

import pytest
from harness import golden


@pytest.mark.some(5)
@pytest.mark.parametrize("name", golden.NAMES)
def test_pages(name: str, tmp_path: Path) -> None:
    wanted = (golden.PAGES / f"{name}.txt").read_text(encoding="utf-8")
    assert golden.page(name, tmp_path) == wanted, "make golden writes it anew: look at it"
