"""Completion of `fathom` for bash, zsh and fish, made of what the commands themselves say they take.

Python's commands tell by their parsers, `run` and `env`, which are native, by their help. What is made is text for the
shells alone: completing starts no Python, and `fathom` starts as fast as without.
"""

from __future__ import annotations

import argparse
import importlib
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from fathom.analysis.findings import catalog
from fathom.analysis.on_store import stores
from fathom.catalog.layers import names as layers
from fathom.cli.commands import COMMANDS, HELP
from fathom.cli.parser import Parser
from fathom.pages.sections import NAMES
from fathom.run.filter import LEVELS

NATIVE = ("run", "env")
#: What a word stands for, by the name that the help has for it; of all others nothing is offered.
KINDS = {
    **dict.fromkeys(("FILE", "HTML"), "file"),
    **dict.fromkeys(("DIR", "FOLDER"), "directory"),
    **dict.fromkeys(("RUN", "PART", "A", "B"), "run"),
    **dict.fromkeys(("PROGRAM", "COMPILER"), "program"),
}
#: Which words an option of the native commands takes.
CHOICES = {"LEVEL": tuple(LEVELS), "SHELL": ("sh", "csh", "fish", "json")}
FINDINGS = tuple(rule.stem for rule in catalog())
LAYERS = ("--layer", "--layers")
#: Words of options that take others besides: lists of them, files.
KNOWN = {
    ("show", "--by"): NAMES,
    ("show", "--findings"): FINDINGS,
    ("show", "--on"): tuple(stores()),
    ("tune", "--try"): FINDINGS,
}
LINE = re.compile(r"^  (?:(-\w), )?(--[\w-]+)(?:(\[=| )(\S+))?(?:  +(.*))?$", re.M)


@dataclass(frozen=True)
class Option:
    """An option: its names, what it is for, what follows it: nothing, one of `choices`, or a word of a kind."""

    names: tuple[str, ...]
    what: str
    takes: bool  # a value, which may be left out if `optional`
    optional: bool = False
    kind: str = ""
    choices: tuple[str, ...] = ()


@dataclass
class Command:
    """A command: its options; words of the first argument or what kind the arguments are."""

    name: str
    what: str
    options: list[Option] = field(default_factory=list)
    words: tuple[str, ...] = ()
    kind: str = ""


def _kind(action: argparse.Action) -> str:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    first = metavar.partition("|")[0].partition(" ")[0]
    return KINDS.get(first, "file" if action.type is Path else "")


def _words(choices: object) -> tuple[str, ...]:
    return tuple(str(choice) for choice in choices) if choices else ()  # type: ignore[attr-defined]


def _known(command: str, names: tuple[str, ...]) -> tuple[str, ...]:
    if set(names) & set(LAYERS):
        return layers()
    return tuple(word for name in names for word in KNOWN.get((command, name), ()))


def _of_parser(command: Command) -> None:
    module = importlib.import_module(f"fathom.cli.{command.name}")
    _of_module(command, module)
    for verb in getattr(module, "VERBS", ()):
        _of_module(command, importlib.import_module(f"fathom.cli.{command.name}_{verb}"))


def _of_module(command: Command, module: ModuleType) -> None:
    parser = Parser(prog=f"fathom {command.name}")
    module.add_arguments(parser)
    for action in parser._actions:
        what = (action.help or "") % {**vars(action), "prog": parser.prog}
        names, words = tuple(action.option_strings), _words(action.choices)
        words = words or _known(command.name, names)
        if action.help == argparse.SUPPRESS:
            continue
        if set(names) & {name for option in command.options for name in option.names}:
            continue  # of another of its verbs
        if names:
            optional = action.nargs in ("?", "*")
            command.options.append(
                Option(names, what, action.nargs != 0, optional, _kind(action), words)
            )
        elif words and not command.words:
            command.words = words
        else:
            command.kind = _kind(action) or command.kind
    if hasattr(module, "PROGRAM") and not command.kind:
        command.kind = "program"


def _of_help(command: Command, fathom: Path) -> None:
    help_text = subprocess.run(
        [fathom, command.name, "--help"], capture_output=True, text=True, check=True
    )
    command.kind = "program" if command.name == "run" else ""
    for short, name, joint, word, what in LINE.findall(help_text.stdout):
        names = tuple(one for one in (short, name) if one)
        takes = joint == " "
        fixed = re.match(r"[a-z]+", word)  # `dirty`, and not a name for a value
        choices = CHOICES.get(word, (fixed[0],) if fixed else ())
        choices = choices or (layers() if name in LAYERS else ())
        command.options.append(
            Option(names, what or word, takes, kind=KINDS.get(word, ""), choices=choices)
        )


def commands(fathom: Path) -> Iterator[Command]:
    """Each command with all that can be completed of it; `fathom` is the native command."""
    for name, what in COMMANDS.items():
        command = Command(name, what)
        if name in NATIVE:
            _of_help(command, fathom)
        else:
            _of_parser(command)
        yield command
    for name, what in HELP.items():
        yield Command(name, what, words=(*COMMANDS, "--all") if name == "help" else ())


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _brief(text: str) -> str:
    """The first part of a help line, short enough for a list."""
    first = text.split(";")[0].split("\n")[0]
    return first if len(first) <= 72 else first[:71].rpartition(" ")[0] + " …"


BASH = """# bash completion of fathom; made by packaging/completion.py
_fathom_words() {
	mapfile -t COMPREPLY < <(compgen "$@" -- "$current")
}

# Of a list with commas the last word.
_fathom_choices() {
	local first=
	[[ $current != *,* ]] || first=${current%,*},
	mapfile -t COMPREPLY < <(compgen -P "$first" -W "$1" -- "${current##*,}")
}

_fathom_runs() {
	compopt -o filenames
	mapfile -t COMPREPLY < <(compgen -d -X '!*.fathom' -- "$current"; compgen -f -X '!*.darshan' -- "$current")
}

_fathom_kind() {
	case $1 in
	file) compopt -o filenames; _fathom_words -f ;;
	directory) compopt -o filenames; _fathom_words -d ;;
	run) _fathom_runs ;;
	program) compopt -o filenames; _fathom_words -c -f ;;
	*) COMPREPLY=() ;;
	esac
}

_fathom() {
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]}
	local at options words kind
	if [ "$COMP_CWORD" -eq 1 ]; then
		_fathom_words -W '@names@'
		return
	fi
	for ((at = 2; at < COMP_CWORD; at++)); do
		[ "${COMP_WORDS[at]}" != -- ] || { _fathom_kind program; return; }
	done
	if [ "$current" = = ]; then
		current=
	elif [ "$before" = = ]; then
		before=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case "$command $before" in
@values@
	esac
	case $command in
@commands@
	*) return ;;
	esac
	case $current in
	-*) _fathom_words -W "$options" ;;
	*) if [ "$COMP_CWORD" -eq 2 ] && [ -n "$words" ]; then _fathom_words -W "$words"; else _fathom_kind "$kind"; fi ;;
	esac
}
complete -F _fathom fathom
"""


def _bash_value(command: Command, option: Option) -> str:
    names = " | ".join(_quoted(f"{command.name} {name}") for name in option.names)
    if option.choices:
        does = f"_fathom_choices {_quoted(' '.join(option.choices))}"
    else:
        does = f"_fathom_kind {option.kind or 'none'}"
    if option.optional:
        return f"\t{names}) [[ $current = -* ]] || {{ {does}; return; }} ;;"
    return f"\t{names}) {does}; return ;;"


def bash(every: list[Command]) -> str:
    """For share/bash-completion/completions."""
    values = [_bash_value(one, option) for one in every for option in one.options if option.takes]
    lines = []
    for one in every:
        options = " ".join(name for option in one.options for name in option.names)
        words = _quoted(" ".join(one.words))
        lines.append(
            f"\t{one.name}) options={_quoted(options)} words={words} kind={one.kind or 'none'} ;;"
        )
    text = BASH.replace("@names@", " ".join(one.name for one in every))
    return text.replace("@values@", "\n".join(values)).replace("@commands@", "\n".join(lines))


ZSH_KINDS = {
    "file": "_files",
    "directory": "_files -/",
    "run": '_path_files -g "*.fathom(-/) *.darshan(-.)"',
    "program": "_command_names -e",
}
ZSH = """#compdef fathom
# Made by packaging/completion.py
_fathom() {
	local -a known=(
@names@
	)
	if (( CURRENT == 2 )); then
		_describe -t commands command known
		return
	fi
	local command=$words[2] at=${words[(i)--]}
	if (( at < CURRENT )); then
		shift $at words
		(( CURRENT -= at ))
		_normal
		return
	fi
	shift words
	(( CURRENT-- ))
	case $command in
@commands@
	esac
}
_fathom "$@"
"""


def _zsh_text(text: str) -> str:
    return re.sub(r"([\[\]:\\])", r"\\\1", _brief(text))


def _zsh_option(option: Option) -> Iterator[str]:
    value = ""
    if option.choices:
        value = f":value:({' '.join(option.choices)})"
    elif option.takes:
        value = f":value:{ZSH_KINDS.get(option.kind, ' ')}"
    for name in option.names:
        equals = "=" if value and name.startswith("--") else ""
        yield _quoted(f"*{name}{equals}[{_zsh_text(option.what)}]{value}")


def _zsh_arguments(command: Command) -> Iterator[str]:
    if command.words:
        yield _quoted(f"1:what:({' '.join(command.words)})")
    if command.kind == "program":
        yield "'*::program:_normal'"
    elif command.kind:
        yield _quoted(f"*:argument:{ZSH_KINDS[command.kind]}")


def zsh(every: list[Command]) -> str:
    """For share/zsh/site-functions."""
    cases = []
    for one in every:
        specs = [spec for option in one.options for spec in _zsh_option(option)]
        specs += _zsh_arguments(one)
        cases += [f"\t{one.name})", "\t\t_arguments -S \\"]
        cases += ["\t\t\t" + " \\\n\t\t\t".join(specs), "\t\t;;"]
    names = [f"\t\t{_quoted(f'{one.name}:{_zsh_text(one.what)}')}" for one in every]
    return ZSH.replace("@names@", "\n".join(names)).replace("@commands@", "\n".join(cases))


def _fish_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


FISH_RUNS = "'(for run in (commandline -ct)*.fathom (commandline -ct)*.darshan; echo $run; end)'"
FISH_KINDS = {
    "file": "-F", "directory": "-x -a '(__fish_complete_directories)'", "run": f"-x -a {FISH_RUNS}",
    "program": "-F -a '(__fish_complete_command)'", "": "-x",
}  # fmt: skip


def _fish_option(given: str, option: Option) -> str:
    names = " ".join(
        f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names
    )
    value = ""
    if option.choices:
        value = f" -x -a {_fish_text(' '.join(option.choices))}"
    elif option.takes:
        value = " -r -F" if option.kind == "file" else f" {FISH_KINDS.get(option.kind, '-x')}"
    return f"{given} {names}{value} -d {_fish_text(_brief(option.what))}"


def fish(every: list[Command]) -> str:
    """For share/fish/vendor_completions.d."""
    lines = ["# Made by packaging/completion.py", "complete -c fathom -f"]
    for one in every:
        brief = _fish_text(_brief(one.what))
        lines.append(f"complete -c fathom -n __fish_use_subcommand -a {one.name} -d {brief}")
    for one in every:
        given = f"complete -c fathom -n '__fish_seen_subcommand_from {one.name}'"
        if one.words:
            lines.append(f"{given} -a {_fish_text(' '.join(one.words))}")
        if one.kind:
            lines.append(f"{given} {FISH_KINDS[one.kind]}")
        lines += [_fish_option(given, option) for option in one.options]
    return "\n".join(lines) + "\n"
