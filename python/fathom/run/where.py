"""How a Dask cluster is named. Apart from what asks one: a command's help is there without it."""

FORMS = "local, local:WORKERS, a scheduler's HOST:PORT, or its scheduler file (.json)"
