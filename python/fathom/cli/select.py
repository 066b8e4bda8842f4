"""fathom select: change what is recorded of a run, while it runs.

Of one that `fathom run` or `fathom attach` began. Says the same as their options: a selection
file, or its short forms. Every process of the run on this node goes by it from its next call on.

examples:
  fathom select s3d.1 restart.toml
  fathom select s3d.1 critical
  fathom select s3d.1 --level off
  fathom select s3d.1 --level call --layers mpiio --files '*.rst'
"""

import argparse
import os
import socket
import sys
from pathlib import Path

from fathom.cli.arguments import add_run, add_what_is_recorded
from fathom.errors import RunError, UsageError
from fathom.files import boot_id
from fathom.run import control, live, manifest
from fathom.run.directory import resolve
from fathom.run.filter import (
    CRITICAL,
    Configuration,
    compile_text,
    from_options,
    layers_of,
    patched,
)
from fathom.run.rings import own_rings
from fathom.text import numbers
from fathom.text.quoting import shell


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """RUN, and a file or its short forms."""
    add_run(parser)
    parser.add_argument(
        "file",
        nargs="?",
        type=Path,
        help="selection file (docs/selection.md), or the word critical",
    )
    add_what_is_recorded(parser)


def run(arguments: argparse.Namespace) -> int:
    """Checks the selection, puts it in force on this node, and says where it is not."""
    directory = resolve(arguments.run)
    content = manifest.read(directory)
    configuration = content.get("configuration", {})
    text, name = _chosen(arguments, configuration)
    rings = own_rings(directory)
    if rings is None or not (rings / "control").is_file():
        ended = "the run has ended" if "exit" in content else "none of its processes is here"
        raise RunError(f"{directory}: nothing to change on this node: {ended}")
    node = control.Node(rings)
    compiled = compile_text(text, name, node.programs())
    _check_layers(text, configuration)
    number = node.change(compiled)
    manifest.keep_change(directory, "selections.jsonl", number, selection=text)
    beside = live.carriers().get(directory.resolve(), []) or node.processes()
    if beside:
        node.start_agent(directory.resolve(), min(beside))
    says = compiled.splitlines()[1].removeprefix("says ")
    count = len(node.processes())
    print(
        f"fathom: {numbers.things(count, 'process', 'processes')} of {socket.gethostname()}: {says}",
        file=sys.stderr,
    )
    return _say_others(directory)


def _chosen(arguments: argparse.Namespace, configuration: Configuration) -> tuple[str, str]:
    """The selection's text, and what to call it in a message."""
    short = arguments.level or arguments.layers is not None or arguments.files
    if arguments.file and short:
        raise UsageError("select: a file says level, layers and files; leave the options out")
    if short:
        level = arguments.level or "call"
        text = from_options(level, arguments.layers, arguments.files, configuration)
        return text, "select"
    if not arguments.file:
        raise UsageError("select: what? name a selection file, or --level, --layers, --files")
    if arguments.file == Path(CRITICAL):
        return CRITICAL, "select"
    try:
        return arguments.file.read_text(encoding="utf-8"), str(arguments.file)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{arguments.file}: {error}") from error


def _check_layers(text: str, configuration: Configuration) -> None:
    missing = sorted(layers_of(text) - patched(configuration))
    if missing:
        raise UsageError(
            f"select: layer {missing[0]} was not asked for when the run began, so its functions are"
            f" not seen; start a run with --layers +{missing[0]}"
        )


def _say_others(directory: Path) -> int:
    """Other nodes have pages of their own."""
    this_node = (socket.gethostname(), boot_id())
    others = [
        str(node.get("host"))
        for node in manifest.nodes(directory)
        if (node.get("host"), node.get("boot_id")) != this_node
    ]
    if not others:
        return 0
    command = f"fathom select {shell([os.path.relpath(directory)])} …"
    print(f"fathom: not changed on {', '.join(others)}: run `{command}` there too", file=sys.stderr)
    return 1
