"""What Fathom's layers, kinds and flags are called in OTF2."""

import os
from dataclasses import dataclass

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

#: I/O paradigms by their identification: name, and whether processes use one file together by it.
IO_PARADIGMS = {
    "POSIX": ("POSIX I/O", False),
    "ISOC": ("ISO C I/O", False),
    "MPI-IO": ("MPI-IO", True),
    "HDF5": ("HDF5", True),
    "netCDF": ("netCDF", True),
    "PnetCDF": ("PnetCDF", True),
}

#: Blocking collectives of MPI; those that make communicators, and those of neighbours, are not among OTF2's.
COLLECTIVES = {
    "MPI_Barrier": _otf2.COLLECTIVE_OP_BARRIER,
    "MPI_Bcast": _otf2.COLLECTIVE_OP_BCAST,
    "MPI_Gather": _otf2.COLLECTIVE_OP_GATHER,
    "MPI_Gatherv": _otf2.COLLECTIVE_OP_GATHERV,
    "MPI_Scatter": _otf2.COLLECTIVE_OP_SCATTER,
    "MPI_Scatterv": _otf2.COLLECTIVE_OP_SCATTERV,
    "MPI_Allgather": _otf2.COLLECTIVE_OP_ALLGATHER,
    "MPI_Allgatherv": _otf2.COLLECTIVE_OP_ALLGATHERV,
    "MPI_Alltoall": _otf2.COLLECTIVE_OP_ALLTOALL,
    "MPI_Alltoallv": _otf2.COLLECTIVE_OP_ALLTOALLV,
    "MPI_Alltoallw": _otf2.COLLECTIVE_OP_ALLTOALLW,
    "MPI_Allreduce": _otf2.COLLECTIVE_OP_ALLREDUCE,
    "MPI_Reduce": _otf2.COLLECTIVE_OP_REDUCE,
    "MPI_Reduce_scatter": _otf2.COLLECTIVE_OP_REDUCE_SCATTER,
    "MPI_Reduce_scatter_block": _otf2.COLLECTIVE_OP_REDUCE_SCATTER_BLOCK,
    "MPI_Scan": _otf2.COLLECTIVE_OP_SCAN,
    "MPI_Exscan": _otf2.COLLECTIVE_OP_EXSCAN,
}


@dataclass(frozen=True)
class Opening:
    """How something was opened, in OTF2's bits."""

    mode: int
    creation: int = 0
    status: int = 0


READ, WRITE, BOTH = (
    _otf2.IO_ACCESS_MODE_READ_ONLY.value,
    _otf2.IO_ACCESS_MODE_WRITE_ONLY.value,
    _otf2.IO_ACCESS_MODE_READ_WRITE.value,
)
CREATE, TRUNCATE, EXCLUSIVE = (
    _otf2.IO_CREATION_FLAG_CREATE.value,
    _otf2.IO_CREATION_FLAG_TRUNCATE.value,
    _otf2.IO_CREATION_FLAG_EXCLUSIVE.value,
)

POSIX_CREATION = (
    (os.O_CREAT, CREATE),
    (os.O_TRUNC, TRUNCATE),
    (os.O_EXCL, EXCLUSIVE),
    (os.O_DIRECTORY, _otf2.IO_CREATION_FLAG_DIRECTORY.value),
    (os.O_NOCTTY, _otf2.IO_CREATION_FLAG_NO_CONTROLLING_TERMINAL.value),
    (os.O_NOFOLLOW, _otf2.IO_CREATION_FLAG_NO_FOLLOW.value),
    (os.O_PATH, _otf2.IO_CREATION_FLAG_PATH.value),
)
POSIX_STATUS = (
    (os.O_CLOEXEC, _otf2.IO_STATUS_FLAG_CLOSE_ON_EXEC.value),
    (os.O_APPEND, _otf2.IO_STATUS_FLAG_APPEND.value),
    (os.O_NONBLOCK, _otf2.IO_STATUS_FLAG_NON_BLOCKING.value),
    (os.O_SYNC, _otf2.IO_STATUS_FLAG_SYNC.value),
    (os.O_DSYNC, _otf2.IO_STATUS_FLAG_DATA_SYNC.value),
    (os.O_DIRECT, _otf2.IO_STATUS_FLAG_AVOID_CACHING.value),
    (os.O_NOATIME, _otf2.IO_STATUS_FLAG_NO_ACCESS_TIME.value),
)
#: MPI_MODE_… as MPICH and Open MPI have them.
MPI_CREATION = (
    (1, CREATE),
    (64, EXCLUSIVE),
    (32, _otf2.IO_CREATION_FLAG_UNIQUE.value),
    (256, _otf2.IO_CREATION_FLAG_NO_SEEK.value),
)
MPI_STATUS = (
    (128, _otf2.IO_STATUS_FLAG_APPEND.value),
    (16, _otf2.IO_STATUS_FLAG_DELETE_ON_CLOSE.value),
)
HDF5_CREATION = ((2, CREATE | TRUNCATE), (4, CREATE | EXCLUSIVE), (16, CREATE))


def _bits(flags: int, known: tuple[tuple[int, int], ...]) -> int:
    flagged = 0
    for mask, bits in known:
        if flags & mask == mask:
            flagged |= bits
    return flagged


def opening(paradigm: str, flags: int | None, op: str) -> Opening:
    """Of a handle's `flags`, as the call `op` was given them."""
    creation = CREATE if "reate" in op else 0
    if flags is None:
        return Opening(BOTH, creation)
    if paradigm in ("POSIX", "ISOC"):
        mode = (READ, WRITE, BOTH, READ)[flags & os.O_ACCMODE]
        return Opening(mode, _bits(flags, POSIX_CREATION), _bits(flags, POSIX_STATUS))
    if paradigm == "MPI-IO":
        mode = READ if flags & 2 else WRITE if flags & 4 else BOTH
        return Opening(mode, _bits(flags, MPI_CREATION), _bits(flags, MPI_STATUS))
    if paradigm == "HDF5":
        mode = READ if flags == 0 and not creation else BOTH
        return Opening(mode, _bits(flags, HDF5_CREATION))
    return Opening(BOTH if creation or flags & 1 else READ, creation)
