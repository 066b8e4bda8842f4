"""The statements of this room, with those of `analysis/` as parts."""

from fathom.analysis.statements import of_folder

statement = of_folder(__package__)
