"""The bar of an account as text: its title, its fills, its legend."""

from fathom.analysis.causes import Bar, Share
from fathom.pages import account


def bar(*seconds: float) -> Bar:
    """Of a run of 10 s, with so many seconds of transfer, requests, names …"""
    causes = dict(zip(("transfer", "requests", "names"), seconds, strict=False))
    return Bar(10.0, Share(0, 3, sum(seconds), causes), None, ["run"])


def test_cells_are_the_share_of_the_run() -> None:
    first, *legend = account.paint(bar(5.0, 2.5), 61)
    cells = first[first.index("|") + 1 : first.rindex("|")]
    assert (len(cells), cells.count("█"), cells.count("▓")) == (40, 20, 10)
    said = " ".join(legend)
    assert "█ transfer 5 s (50 %)" in said and "▓ requests 2.5 s (25 %)" in said
    assert account.explained(bar(1.0, 2.5)).startswith("requests: ")


def test_what_ran_one_after_another_is_one_bar() -> None:
    chain = Bar(10.0, Share(0, None, 5.0, {"sync": 5.0}, in_turn=1200), None, ["run"])
    assert account.paint(chain, 61)[0].startswith("slowest, 1,200 in turn |")
    assert account.explained(chain) == "in turn: one after another"


def test_more_than_the_run_is_said() -> None:
    assert account.title(bar(9.0)) == "Where 10 s went, by cause of I/O time"
    assert "(15 s: calls lie side by side)" in account.title(bar(9.0, 6.0))


def test_of_hardly_any_io_there_is_no_picture() -> None:
    assert account.paint(bar(0.05), 61) == []
    assert account.paint(Bar(10.0, None, None, []), 61) == []
