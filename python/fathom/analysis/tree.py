"""The program's own I/O calls and what they were spent in, as a tree; from calls recorded in full. Times in ns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from fathom.analysis import Source
from fathom.analysis.own import own_values

#: Where no site was recorded.
UNKNOWN = {"function": "", "source": None, "line": None, "module": ""}


@dataclass
class Node:
    """A line of the program, a region (layer `user`), or a function: the calls along one path to it. A line or region
    has the sums of what is in it, and no time of its own."""

    name: str
    layer: str = ""  # of a line none
    calls: int = 0
    bytes: int = 0
    time: int = 0
    self_time: int = 0
    below: dict[tuple[str, str], Node] = field(default_factory=dict)

    def child(self, name: str, layer: str = "") -> Node:
        """The one of this name, new where there is none."""
        return self.below.setdefault((name, layer), Node(name, layer))

    def add(self, row: dict[str, Any]) -> None:
        """The calls of a row."""
        self.calls += int(row["calls"])
        self.bytes += int(row["bytes"])
        self.time += int(row["time"])

    def sorted(self) -> list[Node]:
        """Those below it, the most time first."""
        return sorted(self.below.values(), key=lambda one: (-one.time, one.name))

    def walk(self, depth: int = 0) -> Iterator[tuple[int, Node]]:
        """All below it, each before its own; with how deep each lies."""
        for one in self.sorted():
            yield depth, one
            yield from one.walk(depth + 1)


def call_tree(source: Source, place: Callable[[dict[str, Any]], str], frames: bool = False) -> Node:
    """Its root, with all of it below. `place`: how a line of the program is called, from function, source, line and
    module. `frames`: with all functions that led to a call, those of libraries too, instead of the user's lines.
    Errors: `RunError` of a damaged run."""
    rows = source.sql("from call_tree($regions, $talk)", **own_values(source)).to_pylist()
    table = source.sql("from site_paths(frames := $frames)", frames=frames)
    paths = dict(zip(*table.to_pydict().values(), strict=True))
    root, nodes = Node(""), dict[int, Node]()
    for row in rows:  # each after the one above it
        if row["above"] is not None:
            nodes[row["node"]] = _function(nodes[row["above"]], row)
            continue
        path = [root]
        for name, _ in groupby(place(line) for line in paths.get(row["site"], [UNKNOWN])):
            path.append(path[-1].child(name))
        for region in row["regions"] or ():
            path.append(path[-1].child(region, "user"))
        for one in path:
            one.add(row)
        nodes[row["node"]] = _function(path[-1], row)
    return root


def _function(above: Node, row: dict[str, Any]) -> Node:
    node = above.child(row["op"], row["layer"])
    node.add(row)
    node.self_time += int(row["self"])
    return node
