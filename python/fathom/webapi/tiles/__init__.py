"""The pyramid of tiles: what a picture of any width and zoom needs of a run, in proportion to its pixels."""

from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from fathom.cache.derived import Watch, ignore
from fathom.errors import DamagedRun
from fathom.run.background import in_background
from fathom.run.cluster import Workers
from fathom.run.database import SMALL, first_line, quoted
from fathom.run.scratch import Scratch
from fathom.webapi.tiles import build


class Tiles:
    """A run's tiles, made if they are not there yet; a small file is held in memory, and read in half the time."""

    def __init__(
        self,
        tables: Path,
        watch: Watch = ignore,
        workers: Workers | None = None,
        with_runtime: bool = False,
    ) -> None:
        """Of a run that is packed. `watch`, `workers`, `with_runtime`: as build.ensure has it."""
        making: list[duckdb.DuckDBPyConnection] = []

        def watched(con: duckdb.DuckDBPyConnection) -> None:
            making.append(con)
            watch(con)

        def give_up() -> None:
            if workers:
                workers.given_up = True
            for con in making:
                with suppress(duckdb.ConnectionException):  # closed: it has done its work
                    con.interrupt()

        self._temporary: Scratch | None
        file, self._temporary = in_background(
            lambda: build.ensure(tables, watched, workers, with_runtime), give_up
        )
        self._con = duckdb.connect(":memory:")
        self._con.execute("set parquet_metadata_cache = true")
        try:
            form = "table" if file.stat().st_size <= SMALL else "view"
            self._con.execute(f"create {form} tiles as from read_parquet({quoted(str(file))})")
        except (OSError, duckdb.Error) as error:
            raise DamagedRun(f"{file}: {first_line(error)}; try again") from error

    @cached_property
    def deepest(self) -> int:
        """The finest zoom that was made; of finer ones what is asked for is worked out from the calls."""
        return int(self.sql("select coalesce(max(z), 0) as z from tiles")["z"][0].as_py())

    def sql(self, text: str, **values: Any) -> pa.Table:
        """Rows of a statement over `tiles`."""
        return self._con.cursor().sql(text, params=values or None).to_arrow_table()

    def tile(self, layer: str, z: int, x: int, y: int) -> pa.Table:
        """Cells of one tile: cell, op, kind, calls, time, bytes, longest, call."""
        return self.sql(
            "select cell, op, kind, calls, time, bytes, longest, call from tiles"
            " where z = $z and layer = $layer and y = $y and x = $x",
            z=z, layer=layer, x=x, y=y,
        )  # fmt: skip
