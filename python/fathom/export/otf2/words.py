"""What Fathom's layers and kinds are called in OTF2."""

import _otf2

#: Paradigm of a layer's regions; POSIX and what lies above it but for MPI has none of OTF2's.
PARADIGMS = {
    "mpi": _otf2.PARADIGM_MPI,
    "mpiio": _otf2.PARADIGM_MPI,
    "threads": _otf2.PARADIGM_PTHREAD,
    "user": _otf2.PARADIGM_USER,
    "fathom": _otf2.PARADIGM_MEASUREMENT_SYSTEM,
}

#: Role of a kind's regions.
ROLES = {
    "read": _otf2.REGION_ROLE_FILE_IO,
    "write": _otf2.REGION_ROLE_FILE_IO,
    "sync": _otf2.REGION_ROLE_FILE_IO,
    "post": _otf2.REGION_ROLE_FILE_IO,
    "open": _otf2.REGION_ROLE_FILE_IO_METADATA,
    "close": _otf2.REGION_ROLE_FILE_IO_METADATA,
    "meta": _otf2.REGION_ROLE_FILE_IO_METADATA,
    "seek": _otf2.REGION_ROLE_FILE_IO_METADATA,
    "dir": _otf2.REGION_ROLE_FILE_IO_METADATA,
}
