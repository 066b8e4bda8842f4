"""run.heat and run.timeline: what is drawn adds up to the run's tables, and axes say their units."""

from pathlib import Path
from typing import Any

import fathom
import numpy as np
import pytest
from fathom.analysis import pictured
from fathom.errors import NotRecorded, UsageError
from matplotlib.collections import PolyCollection
from schema import write_run

# Of the small run: both ranks, 4 µs; 4.5 µs in the program's own calls, which move 164 bytes.
OWN_NS, OWN_BYTES, OWN_CALLS = 1000 + 500 + 3000, 64 + 100, 3


def grid(figure: Any) -> np.ndarray:
    """Of a heat map: what its cells say, 0 where nothing was."""
    (image,) = figure.axes[0].images
    return np.nan_to_num(np.ma.filled(image.get_array(), np.nan))


def test_cells_of_the_heat_map_add_up(shared_run: Path) -> None:
    run = fathom.open(shared_run)
    width = 4000 / pictured.BINS / 1e9  # seconds
    assert grid(run.heat()).shape == (2, pictured.BINS)
    assert np.isclose(grid(run.heat()).sum() / 100 * width, OWN_NS / 1e9)
    assert np.isclose(grid(run.heat("bytes")).sum() * width * 1e6, OWN_BYTES)
    assert np.isclose(grid(run.heat("calls")).sum() * width, OWN_CALLS)
    (below,) = run.sql(
        "select sum(duration)::double as ns, sum(bytes)::double as bytes from calls where layer = 'posix'"
    ).to_pylist()
    assert np.isclose(grid(run.heat(layer="posix")).sum() / 100 * width, below["ns"] / 1e9)
    assert np.isclose(grid(run.heat("bytes", layer="posix")).sum() * width * 1e6, below["bytes"])


def test_axes_say_what_they_are(shared_run: Path) -> None:
    run = fathom.open(shared_run)
    heat, bar = run.heat("bytes", layer="posix").axes
    assert heat.get_xlabel() == "time since the start of the run (µs)"
    assert [label.get_text() for label in heat.get_yticklabels()] == ["rank 0", "rank 1"]
    assert heat.get_title(loc="left") == "small: calls of posix" and bar.get_ylabel() == "MB/s"
    (axes,) = run.timeline(time=(1e-6, 2e-6)).axes
    assert axes.get_xlim() == (1.0, 2.0)
    assert axes.get_xlabel() == "time since the start of the run (µs)"
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == ["MPI-IO", "POSIX"]  # HDF5 had ended


def test_a_notebook_shows_them(shared_run: Path) -> None:
    """Also where nobody has loaded pyplot, which teaches IPython to show figures."""
    run = fathom.open(shared_run)
    answer = run.query("latency breakdown exclusive [0]")
    for figure in (run.heat(), run.timeline(), answer.figure()):
        assert figure._repr_png_().startswith(b"\x89PNG")


def strips(figure: Any) -> list[list[tuple[float, float, float]]]:
    """Of each layer: from, to (µs), height of each strip as a part of the highest."""
    drawn = []
    for layer in figure.axes[0].collections:
        assert isinstance(layer, PolyCollection)
        corners = [path.vertices for path in layer.get_paths()]
        heights = [float(np.ptp(at[:, 1])) for at in corners]
        drawn.append(
            [
                (float(at[:, 0].min()), float(at[:, 0].max()), height)
                for at, height in zip(corners, heights, strict=True)
            ]
        )
    return drawn


def test_each_call_is_a_strip(shared_run: Path) -> None:
    run = fathom.open(shared_run)
    hdf5, mpiio, posix = strips(run.timeline())
    assert [len(each) for each in (hdf5, mpiio, posix)] == [1, 2, 3]
    assert np.allclose(hdf5[0][:2], (0.0, 1.0))
    (only,) = strips(run.timeline(rank=1, layer="mpiio"))
    assert np.allclose(only[0][:2], (0.5, 3.5)) and len(only) == 1


def test_of_many_calls_a_strip_says_how_busy_it_was(
    shared_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pictured, "SPANS", 1)
    monkeypatch.setattr(pictured, "WIDTH", 50)
    run = fathom.open(shared_run)
    layers = strips(run.timeline())
    highest = 0.8 / 3  # of a lane's row that three layers share
    for name, layer in zip(("hdf5", "mpiio", "posix"), layers, strict=True):
        busy = sum((right - left) * height / highest for left, right, height in layer)
        total = run.sql(
            "select sum(duration) / 1e3 as us from calls where layer = $name", name=name
        )
        assert busy == pytest.approx(float(total["us"][0].as_py()), rel=0.02), name


def test_what_was_only_counted_is_drawn_by_layer(tmp_path: Path) -> None:
    counted = {"layer": "posix", "op": "write", "kind": "write", "calls": 8, "time": 600}
    path = write_run(
        tmp_path / "job.fathom",
        runs=[{"name": "job", "duration": 4000, "processes": 1}],
        processes=[{"process": 0, "pid": 7}],
        counters=[counted | {"process": 0, "recorded": 0, "bytes": 80}],
        heat=[
            {"process": 0, "layer": "posix", "operation": "write", "start": 1000, "stop": 2000}
            | {"calls": 8, "time": 600, "bytes": 80}
        ],
    )
    run = fathom.open(path)
    figure = run.heat("bytes")
    assert figure.axes[0].get_title(loc="left") == "job: reads and writes of posix"
    cells = grid(figure)
    assert np.isclose(cells.sum() * 4000 / pictured.BINS / 1e9 * 1e6, 80)
    assert set(np.nonzero(cells)[1]) == set(range(50, 100))  # a quarter of the run
    with pytest.raises(NotRecorded, match="no call that was chosen was recorded in full; record"):
        run.timeline()


def test_wrong_names_are_said_with_the_nearest(shared_run: Path) -> None:
    run = fathom.open(shared_run)
    with pytest.raises(UsageError, match="heat: no value 'bytess'; is it 'bytes'"):
        run.heat("bytess")
    with pytest.raises(UsageError, match="this run has no layer 'posx'; is it 'posix'"):
        run.heat(layer="posx")
    with pytest.raises(UsageError, match="this run has no rank '7'; there are 0, 1"):
        run.timeline(rank=7)
    with pytest.raises(UsageError, match="it ends before it begins"):
        run.timeline(time=(2, 1))
