"""python opened.py RUN: what `fathom view` answers to the page that opens; errors as the page is sent them."""

import sys

from fathom.errors import FathomError, system_error
from fathom.webapi.answers import ask_written
from fathom.webapi.answers.session import Runs, Stop

ASKED = ("overview", "account", "findings", "lanes", "files", "coverage")

try:
    runs = Runs([sys.argv[1]])
    (name,) = runs.all
    for answer in ASKED:
        print(ask_written(runs, answer, {"run": name}, Stop()))
except FathomError as error:
    sys.exit(error.status if error.reported else f"fathom: {error}")
except OSError as error:
    sys.exit(f"fathom: {system_error(error)}")
