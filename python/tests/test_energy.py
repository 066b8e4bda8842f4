"""`--objective energy`: joules that counters of a node say, here files that a process counts up; and by watts."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import fathom as api
import pytest
from fathom.errors import FathomError
from fathom.tune.search import energy
from fathom.tune.search.energy import Meter, check_single_node
from fathom.tune.search.execute import Executor
from test_commands import fathom, refused
from test_tune import options

RANGE = 1_000_000
#: Two packages, memory, and four zones that count the same joules again.
ZONES = {
    "intel-rapl:0": "package-0", "intel-rapl:0:0": "core", "intel-rapl:0:1": "dram", "intel-rapl:1": "package-1",
    "intel-rapl:2": "psys", "intel-rapl-mmio:0": "package-0", "intel-rapl:0:2": "uncore",
}  # fmt: skip
COUNTED = ("intel-rapl:0", "intel-rapl:0:1", "intel-rapl:1")
#: Adds microjoules to each counter, which begins anew above its range. What is read is never half written.
COUNT = """
import os, sys
root, *used = sys.argv[1:]
for zone in sorted(os.listdir(root)):
    counter = os.path.join(root, zone, "energy_uj")
    now = (int(open(counter).read()) + sum(map(int, used))) % 1_000_000
    open(counter + ".new", "w").write(f"{now}\\n")
    os.replace(counter + ".new", counter)
"""


@pytest.fixture
def powercap() -> Iterator[Path]:
    """Stands for /sys/class/powercap; another user may look in."""
    with tempfile.TemporaryDirectory(prefix="fathom-powercap.") as folder:
        root = Path(folder, "powercap")
        for zone, name in ZONES.items():
            (root / zone).mkdir(parents=True)
            (root / zone / "name").write_text(f"{name}\n")
            (root / zone / "max_energy_range_uj").write_text(f"{RANGE}\n")
            (root / zone / "energy_uj").write_text("700000\n")
        Path(folder).chmod(0o755)
        yield root


def count(root: Path, used: int) -> None:
    subprocess.run([sys.executable, "-c", COUNT, str(root), str(used)], check=True)


def test_packages_and_memory_are_counted_once(powercap: Path) -> None:
    meter = Meter(powercap)
    assert {zone.counter.parent.name for zone in meter.zones} == {*COUNTED}
    with meter:
        count(powercap, 200_000)
    assert meter.joules == pytest.approx(3 * 0.2)
    with meter:
        count(powercap, 250_000)  # above the range: it begins anew
    assert meter.joules == pytest.approx(3 * 0.25)


def test_a_counter_may_go_round_many_times_in_a_trial(powercap: Path) -> None:
    meter = Meter(powercap, often=0.01)
    with meter:
        for turn in range(1, 5):
            count(powercap, 600_000)
            until = time.monotonic() + 60
            while meter.joules < 3 * 0.6 * turn - 1e-6 and time.monotonic() < until:
                time.sleep(0.01)
    assert meter.joules == pytest.approx(3 * 0.6 * 4)


def test_a_trial_costs_the_joules_of_its_time(
    powercap: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(energy, "POWERCAP", powercap)
    script = tmp_path / "count.py"
    script.write_text(COUNT)
    asked = options(
        objective="energy", program=(sys.executable, str(script), str(powercap), "150000"),
        directory=str(tmp_path), scratch=str(tmp_path),
    )  # fmt: skip
    lock = os.open(tmp_path / "lock", os.O_CREAT)
    done = Executor(tmp_path / "s.tune", asked, lock).trial(1, "", 100, look=False)
    os.close(lock)
    assert done.state == "done", done.why
    assert done.score == pytest.approx(3 * 0.15)


def test_by_watts_it_is_what_the_query_says(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = ("dd", "if=/dev/zero", "of={out}/data", "bs=4096", "count=8")
    asked = options(
        objective="energy=11.5,8", group="data", program=program, directory=str(tmp_path), scratch=str(tmp_path),
    )  # fmt: skip
    lock = os.open(tmp_path / "lock", os.O_CREAT)
    one = Executor(tmp_path / "s.tune", asked, lock)
    done = one.trial(1, "", 100, look=True)
    os.close(lock)
    words = ("energy", "11.5", "8", "--files", "data", "--view", "server", "--json")
    status, out, _ = fathom(capfd, "query", one.run_of(1), *words)
    assert status == 0 and done.state == "done", done.why
    assert done.score == pytest.approx(sum(row["joules"] for row in json.loads(out)))
    assert done.score and done.score > 0


def test_what_cannot_be_read_is_one_line_before_any_run(
    powercap: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, shared_run: Path
) -> None:  # fmt: skip
    def message_of(*words: str) -> str:
        return refused(capfd, 3, "tune", "--objective", "energy", *words, "--", "true")

    counter = powercap / COUNTED[0] / "energy_uj"
    monkeypatch.setattr(energy, "POWERCAP", powercap)
    counter.chmod(0o400)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    else:
        counter.chmod(0)
    try:
        assert f"{counter} may not be read: as root, chmod a+r" in message_of()
    finally:
        os.seteuid(user)
    with pytest.raises(FathomError, match=r"processes ran on n1, and only this node's"):
        check_single_node(api.open(shared_run))
    shutil.rmtree(powercap)
    assert (
        f"no RAPL counters in {powercap}, as in most virtual machines; --objective energy="
        in message_of()
    )
    for bad in ("energy=", "energy=5", "energy=5,x", "energy=5,-1", "energy=5,4,3", "energy=nan,1"):
        assert "watts of a disk at work and at rest" in refused(
            capfd, 2, "tune", "--objective", bad, "--", "true"
        )
    assert "--maximize" in refused(
        capfd, 2, "tune", "--objective", "energy=5,4", "--maximize", "--", "true"
    )
