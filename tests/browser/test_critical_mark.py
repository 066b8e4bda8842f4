"""Who was critical, as the timeline shows it: a run in which rank 2 is slow, then rank 1."""

from __future__ import annotations

from pathlib import Path

import fathom
from fathom.analysis import critical
from harness import browser
from playwright.sync_api import Browser
from test_critical import Job

#: Pixels of the marks' colour of the light theme, as `draw/theme.ts` has it, in each row of the picture's canvas.
MARKED = """() => {
    const canvas = document.querySelector('main .picture canvas');
    const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    const rows = new Array(canvas.height).fill(0);
    for (let i = 0; i < pixels.length; i += 4)
        if ([0xb3, 0x26, 0x1e].every((one, c) => Math.abs(pixels[i + c] - one) < 4))
            rows[Math.floor(i / 4 / canvas.width)]++;
    return [rows, canvas.width];
}"""


def test_the_timeline_marks_who_was_critical(chromium: Browser, tmp_path: Path) -> None:
    job = Job(tmp_path, 3, "--select", "critical")
    try:
        for rank in (2, 1):
            job.slow_down(rank)
        job.stop()
    finally:
        job.end()
    phases = critical.phases(fathom.open(job.run)).to_pylist()
    with (
        browser.live(chromium, job.run) as view,
        view.look(browser.address("timeline")) as look,
    ):
        look.settle()
        screen = look.text()
        assert "Critical: " in screen
        assert all(f"rank {rank} from" in screen for rank in (2, 1))
        rows, width = look.page.evaluate(MARKED)
        longest = max(phases, key=lambda one: one["seconds"])["seconds"]
        whole = max(one["start_seconds"] + one["seconds"] for one in phases)
        assert max(rows) > 0.5 * width * longest / whole, "the longest phase has a line"
