"""One module per command: `add_arguments(parser)`, `run(arguments)` -> exit status."""
