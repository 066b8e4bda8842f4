"""Where a variable may be of a compound type: not every library has one, not every language can pack one."""

from fathom.codegen.generate.language.mistake import Mistake
from fathom.codegen.generate.spec import Compound, Spec

LIBRARIES = ("hdf5", "netcdf4")


def check_compounds(spec: Spec) -> None:
    """Mistake for a variable that the library cannot hold, or whose memory lies scattered in Fortran."""
    for variable in spec.variables.values():
        if isinstance(variable.type, Compound) and spec.library not in LIBRARIES:
            raise Mistake(
                variable.place,
                f"{variable.name} is of the compound type {variable.type.name}, which {spec.library} has not",
                "choose hdf5 or netcdf4, or write a variable for each member",
            )
    if spec.language != "fortran":
        return
    for access in (a for point in spec.points for a in point.accesses):
        if access.buffer.memory and isinstance(access.variable.type, Compound):
            raise Mistake(
                access.buffer.place,
                f"{access.buffer.name} is part of a larger array of the compound type"
                f" {access.variable.type.name}: the Fortran code packs numbers only",
                "give a buffer that has only what is moved, or generate C",
            )
