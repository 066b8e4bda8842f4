"""Servers of a run: are they traced, and what are they called?"""

from fathom.analysis import Source


def are_traced(source: Source) -> bool:
    """Did calls of layer `server` say what the servers did? Else what files lie on stands for them."""
    rows = source.sql("select count(*) > 0 as traced from counters where layer = 'server'")
    return bool(rows["traced"][0].as_py())


def names(source: Source) -> dict[int, str]:
    """Name of each server by its number in queries: the place of its name in their order."""
    rows = source.sql("from servers() order by number")
    return dict(zip(rows["number"].to_pylist(), rows["server"].to_pylist(), strict=True))
