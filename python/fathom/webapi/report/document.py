"""The HTML file of a report: the page, what it shows, and the same in words for readers without scripts."""

import contextlib
import html
import io
import re
from collections.abc import Mapping

import fathom
from fathom.errors import FathomError
from fathom.pages.page import print_page
from fathom.webapi.answers.overview import page_of
from fathom.webapi.answers.session import Runs
from fathom.webapi.report.first import screen
from fathom.webapi.report.payload import Payload
from fathom.webapi.report.pictures import pictures
from fathom.webapi.serve.guard import policy
from fathom.webapi.serve.page import NOT_BUILT, inline, page

#: Of a table, as `fathom show` prints it.
ROWS = 10
# Of no use in a file: a browser takes it from a server only, and says so.
OF_SERVERS = "; frame-ancestors 'none'"

# Where the page draws itself, in place of what is there.
ROOM = '<div id="fathom"></div>'


def template() -> str:
    """The page as it was built."""
    built = page()
    if built is None:
        raise FathomError(f"report: {NOT_BUILT}")
    return built.html


def words(runs: Runs) -> str:
    """What `fathom show` prints of each run, which its screens say again."""
    text = io.StringIO()  # no terminal, so without colours
    with contextlib.redirect_stdout(text):
        for name, opened in runs.all.items():
            opened.page = page_of(runs.view(name))
            print_page(opened.page, ROWS)
    return text.getvalue()


def draw(runs: Runs, room: int) -> dict[str, str]:
    """The first screen's pictures of each run; none where they would fill so many bytes."""
    drawn = {name: pictures(runs.view(name)) for name in runs.all}
    return drawn if sum(len(one.encode()) for one in drawn.values()) <= room else {}


def document(form: str, runs: Runs, text: str, payload: Payload, drawn: Mapping[str, str]) -> str:
    """The file. Names of files and programs are nothing but text in it. `drawn`: pictures, by run."""
    names = html.escape(", ".join(runs.all))
    packed = payload.packed()
    left = "".join(f"<p>{html.escape(omission)}</p>" for omission in payload.omissions())
    rules = policy(inline(form, "script"), inline(form, "style")).replace(OF_SERVERS, "")
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{html.escape(rules)}">\n'
        f'<meta name="generator" content="Fathom {html.escape(fathom.__version__)}">\n'
    )
    body = (
        f'<noscript><div class="first" role="region" aria-label="All tables"><h2>All tables</h2>'
        f'<pre tabindex="0">{html.escape(text)}</pre>{left}</div>'
        f"<p>Made by Fathom {html.escape(fathom.__version__)}.</p></noscript>\n"
        f'<script type="text/plain" id="fathom-report">{packed}</script>\n'
    )
    titled = re.sub(
        r"<title>[^<]*</title>", lambda _: f"<title>Fathom: {names}</title>", form, count=1
    )
    # What the page alone says to who runs no script: here there is something to read instead.
    bare = re.sub(r"<noscript>.*?</noscript>\n?", "", titled, count=1, flags=re.DOTALL)
    filled = bare.replace(ROOM, f"{ROOM[:-6]}{screen(payload.answers, drawn)}</div>", 1)
    opened = filled.replace('<meta charset="utf-8">', f'<meta charset="utf-8">\n{head}', 1)
    before, _, after = opened.rpartition("</body>")
    return f"{before}{body}</body>{after}"
