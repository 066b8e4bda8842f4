"""The web UI over HTTP: the page, and the answers of `fathom.webapi.answers`, for the one user who started it."""
