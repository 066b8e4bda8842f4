"""A run may name any file as its source: what is read of it, and what is shown to others."""

from pathlib import Path

import fathom
import pytest
from fathom.assist.server import _source
from fathom.run import sources


def test_what_is_shown_to_others_is_a_programs(tmp_path: Path) -> None:
    good, secret, link = tmp_path / "a.c", tmp_path / "id_rsa", tmp_path / "b.c"
    good.write_text("int main;\n")
    secret.write_text("secret\n")
    link.symlink_to(secret)
    for other in (secret, link, tmp_path / "none.c", Path("a.c"), tmp_path, Path("/dev/zero")):
        assert sources.of_program(other) is None
    assert sources.of_program(good) == sources.read(good) == ["int main;"]
    assert sources.read(secret) == ["secret"]  # to who asks for it himself


@pytest.mark.parametrize("path", ["/dev/zero", "/nowhere/a.c", "/"])
def test_what_is_no_file_is_not_read(path: str) -> None:
    assert sources.read(Path(path)) is None


def test_an_assistant_is_shown_no_other_file(tmp_path: Path, run_directory: Path) -> None:
    secret = tmp_path / "id_rsa"
    secret.write_text("secret\n")
    assert _source(fathom.open(run_directory), f"{secret}:1 main")["text"] is None
