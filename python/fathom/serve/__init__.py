"""The web UI over HTTP: the page, and the answers of `fathom.screens`, for the one user who started it."""
