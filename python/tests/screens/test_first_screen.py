"""What the first screen stands on is worked out once."""

from pathlib import Path

import pytest
from fathom.run.store import Run
from fathom.webapi import answers as screens
from fathom.webapi.answers.session import Runs


@pytest.mark.parametrize("order", [("account", "findings"), ("findings", "account")])
def test_account_and_findings_have_one_account(
    run_directory: Path, monkeypatch: pytest.MonkeyPatch, order: tuple[str, str]
) -> None:
    """Counted: how often the cells are worked out, whoever asks first."""
    kept: list[str] = []
    keep = Run.keep

    def count(run: Run, name: str, text: str) -> None:
        kept.append(name)
        keep(run, name, text)

    monkeypatch.setattr(Run, "keep", count)
    runs = Runs([run_directory])
    replies = [screens.ask(runs, name, {"run": "small"}) for name in order]
    assert kept.count("kept_account") == 1
    alone = [screens.ask(Runs([run_directory]), name, {"run": "small"}) for name in order]
    assert replies == alone
