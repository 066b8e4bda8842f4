"""Whose MPI it is: of a launcher, a compiler, a run, by their own words."""

#: What gives them away.
FAMILIES = (
    ("Open MPI", ("open-mpi", "openmpi", "openrte", "prterun", "open mpi")),
    ("Intel MPI", ("intel(r) mpi", "i_mpi", "impi")),
    ("MPICH", ("mpich", "hydra")),
    ("Slurm", ("slurm",)),
)


def family(text: str) -> str | None:
    """Whose words these are."""
    low = text.lower()
    return next((name for name, words in FAMILIES if any(word in low for word in words)), None)


def kind(text: str) -> str:
    """`openmpi`, or `mpich`, which most others come from: what commands and our stacks have in their names."""
    return "openmpi" if family(text) == "Open MPI" else "mpich"
