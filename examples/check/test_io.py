"""pytest: the mark records a test and fails it over its limits."""

from pathlib import Path

import pytest


@pytest.mark.io(files="*.bin", opens="<= 1", requests="<= 8", bytes_moved="<= 1 * needed")
def test_save(tmp_path: Path) -> None:
    with (tmp_path / "out.bin").open("wb", buffering=0) as out:
        for _ in range(8):
            out.write(bytes(1 << 20))
