"""Random runs with places in files, random selections of them, and what loops over lists find selected."""

import random
from pathlib import Path
from typing import Any

from fathom.analysis import selection
from fathom.webapi import answers as screens
from fathom.webapi.answers.session import Runs, Stop
from latency.forest import Call, Forest
from screens.test_selection import lane_of, selected

NO_IO = ("fathom", "user", "threads")
FOLDERS = {0: "/d/a", 1: "/d/a", 2: "/d/b/c", 3: "/"}  # of files that are files
WORDS = {
    "t": lambda dice: f"{dice.randrange(500)}-{500 + dice.randrange(2000)}",
    "lanes": lambda dice: dice.choice(["0", "0-7:2", "1-2,5"]),
    "layers": lambda dice: dice.choice(["posix", "posix,mpiio,hdf5"]),
    "kinds": lambda dice: dice.choice(["read,write", "write"]),
    "ops": lambda dice: dice.choice(["posix:pwrite,stdio:fread,mpiio:MPI_File_read", "hdf5:H5Dwrite"]),
    "files": lambda dice: dice.choice(["0,1,2", "3"]),
}  # fmt: skip


class Asked:
    """A random run that is open, and its calls."""

    def __init__(self, folder: Path, seed: int, traced: bool = False) -> None:
        self.dice = random.Random(seed)
        self.forest = Forest(seed, traced)
        for call in self.forest.calls:
            if call["kind"] in ("read", "write") and call["file"] is not None:
                call["file_offset"] = self.dice.choice([None, *(8 * n for n in range(60))])
        self.calls = self.forest.calls
        self.by_id = {call["id"]: call for call in self.calls}
        self.lanes = lane_of(self.forest)
        self.runs = Runs([self.forest.write(folder / f"{seed}").path])
        if seed % 2:  # as a large run is read
            self.runs.all["r"].sort(Stop())
            assert self.runs.all["r"].by_time
        self.parameters: dict[str, str] = {}

    def select(self, *names: str, most: int = 2) -> None:
        """Some of these at random are selected from here on."""
        some = self.dice.sample(names, self.dice.randrange(0, min(most, len(names)) + 1))
        self.parameters = {name: WORDS[name](self.dice) for name in some}

    def ask(self, name: str, **parameters: Any) -> Any:
        """The answer."""
        own = {key: str(value) for key, value in parameters.items()}
        return screens.ask(self.runs, name, {"run": "r"} | self.parameters | own)

    def rows(self, answer: dict[str, Any]) -> list[dict[str, Any]]:
        """Of a table."""
        names = [column["name"] for column in answer["columns"]]
        return [dict(zip(names, row, strict=True)) for row in answer["rows"]]

    def selected(self, without: str = "") -> list[Call]:
        """I/O calls that are selected."""
        given = {key: word for key, word in self.parameters.items() if key != without}
        chosen = selection.read(given)
        return [c for c in self.calls if is_io(c) and selected(self.forest, c, chosen)]

    def parent(self, call: Call) -> Call | None:
        return self.by_id.get(call["parent"])

    def is_outermost(self, call: Call) -> bool:
        """Inside no I/O call."""
        parent = self.parent(call)
        return parent is None or parent["layer"] in ("user", "threads")


def is_io(call: Call) -> bool:
    return call["layer"] not in NO_IO and call["kind"] != "comm"
