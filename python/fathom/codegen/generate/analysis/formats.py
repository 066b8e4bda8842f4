"""What the older classic formats, CDF-1 and CDF-2, cannot hold."""

from math import prod

from fathom.codegen.generate.analysis.pieces import extents
from fathom.codegen.generate.language.mistake import Mistake
from fathom.codegen.generate.spec import Spec

HEADER = 1 << 20  # room that a header is granted before the data
#: Largest variable in bytes, rounded as the format has it; the last one may be larger.
LARGEST = {"cdf1": 2**31 - 4, "cdf2": 2**32 - 4}
REMEDY = "take the format out of the options: CDF-5 holds it"


def check_format(spec: Spec, length: dict[str, int], nprocs: int) -> None:
    """Mistake for a type, a size or a place in the file that the format has not."""
    name = spec.option("format", "cdf5")
    if spec.library != "pnetcdf" or name not in LARGEST:
        return
    _check_types(spec, name)
    begin = HEADER
    variables = list(spec.variables.values())
    for variable in variables:
        grows = variable.dimensions[0].length is None
        shape = extents(variable, length)[grows:]  # of a record
        size = prod(shape) * variable.type.size
        if name == "cdf1" and begin > LARGEST[name]:
            raise Mistake(
                variable.place,
                f"with {nprocs} processes {variable.name} begins behind 2 GiB, where cdf1 ends",
                REMEDY,
            )
        if size > LARGEST[name] and (grows or variable is not variables[-1]):
            raise Mistake(
                variable.place,
                f"with {nprocs} processes {variable.name} has {size} bytes, more than {name} can hold",
                REMEDY,
            )
        begin += size


def _check_types(spec: Spec, name: str) -> None:
    named = [(v.name, v.type, v.place) for v in spec.variables.values()]
    named += [(a.name, a.type, a.place) for a in spec.attributes if a.type]
    for what, kind, place in named:
        if kind.name == "int64":
            raise Mistake(place, f"{what} is of type int64, which {name} has not", REMEDY)
