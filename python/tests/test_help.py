"""`fathom help`: short, for any terminal, and there at once; what is mistyped is named."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from fathom import __version__
from fathom.__main__ import main
from fathom.cli.commands import COMMANDS, GROUPS, HELP, RARE

Captured = pytest.CaptureFixture[str]
WIDTH, LINES, VERBS = 80, 40, 16
#: Of Fathom, what help and a command that is mistyped load.
LOADED = (
    *("", ".__main__", ".cli", ".cli.commands", ".errors", ".regions"),
    *(".text", ".text.ascii", ".text.spark"),
)


def test_the_first_screen_fits(capsys: Captured) -> None:
    """Four groups, few commands, all others named, three examples; with each word that asks for it."""
    assert main(["help"]) == 0
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert len(lines) <= LINES and max(map(len, lines)) <= WIDTH
    assert list(GROUPS) == ["record", "read", "change", "maintain"]
    assert all(group in lines for group in GROUPS)
    assert len(COMMANDS) - len(RARE) <= VERBS
    more = out.partition("\nmore: ")[2].partition("fathom help")[0]
    assert " ".join(more.split()).split(", ") == list(RARE)
    above = out.partition("\nmore: ")[0].splitlines()
    listed = {line.split()[0] for line in above if line.startswith("  ")}
    assert listed == set(COMMANDS) - set(RARE)
    assert out.count("\n  fathom ") == 3
    for word in ("-h", "--help"):
        assert main([word]) == 0 and capsys.readouterr().out == out
    assert main([]) == 2
    assert capsys.readouterr() == ("", out)


def test_all_commands(capsys: Captured) -> None:
    assert main(["help", "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert {line.split()[0] for line in lines if line.startswith("  ")} - {"fathom"} == {
        *COMMANDS,
        *HELP,
    }


def test_help_of_a_command(capsys: Captured) -> None:
    said = []
    for words in (["help", "diff"], ["diff", "--help"]):
        with pytest.raises(SystemExit, match="0"):
            main(words)
        said.append(capsys.readouterr().out)
    assert said[0] == said[1] and "usage: fathom diff" in said[0]
    assert main(["help", "dif"]) == 2
    assert "is it 'diff'?" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["version", "-V", "--version"])
def test_version(capsys: Captured, word: str) -> None:
    assert main([word]) == 0
    assert capsys.readouterr().out == f"fathom {__version__}\n"


@pytest.mark.parametrize("words", [["--help"], ["help", "--all"], ["version"], ["xyzzy"]])
def test_help_loads_next_to_nothing(tmp_path: Path, words: list[str]) -> None:
    """Counted in modules: no argparse, no command, none of what commands stand on."""
    script = (
        "import json, sys; before = set(sys.modules); from fathom.__main__ import main; main(sys.argv[1:]);"
        "print(json.dumps(sorted(set(sys.modules) - before)), file=open('loaded', 'w'))"
    )
    subprocess.run(
        [sys.executable, "-P", "-c", script, *words],
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    loaded = set(json.loads((tmp_path / "loaded").read_text()))
    assert {name for name in loaded if name.partition(".")[0] == "fathom"} == {
        f"fathom{name}" for name in LOADED
    }
    assert "argparse" not in loaded and len(loaded) <= 35, sorted(loaded)


def test_options_that_say_what_is_recorded_are_one_group(capsys: Captured) -> None:
    """The same where recording begins and where it is changed; each names the other two."""
    said = {}
    for command in ("attach", "select", "detach"):
        with pytest.raises(SystemExit, match="0"):
            main([command, "--help"])
        said[command] = capsys.readouterr().out
    others = {"attach": ("select", "detach"), "select": ("attach",), "detach": ("attach", "select")}
    for command, named in others.items():
        assert all(f"`fathom {other}" in said[command] for other in named)
    shared = said["select"].partition("what is recorded:\n")[2].rstrip()
    assert "--level" in shared and "--layers" in shared and "--files" in shared
    assert shared in said["attach"]
