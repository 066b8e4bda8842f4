"""What must hold however long one tries: `make torture SECONDS=N`. docs/reliability.md has the promises and figures."""
