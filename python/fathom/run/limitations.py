"""What runs imported from other tools lack, and those whose calls were dropped, and what to do about it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fathom.errors import NotRecorded
from fathom.run.manifest import Manifest

TRACED = {
    "darshan": "it was imported from a log of Darshan without them: record the program with DXT, or with fathom run",
    "dftracer": "it was imported from DFTracer: record the program with DFTRACER_INC_METADATA=1, or with fathom run",
    "recorder": "it was imported from Recorder: record the program with fathom run",
    "strace": "it was imported from strace: record the program with fathom run",
}
EVERY = {
    "darshan": "Darshan traces reads and writes at most: record the program with fathom run",
}


def _dropped(manifest: Manifest) -> str | None:
    reasons = manifest.get("configuration", {}).get("keep_calls_if")
    if not reasons:
        return None
    return f"calls stay only if {reasons}: record it without --keep-calls-if"


def reads_and_writes(manifest: Manifest, otherwise: str) -> str:
    """Where reads and writes are not there; `otherwise`: of a run of our own."""
    return TRACED.get(manifest.get("recorder", ""), _dropped(manifest) or otherwise)


def every_call(manifest: Manifest, otherwise: str) -> str:
    """Where not all calls are there."""
    return EVERY.get(manifest.get("recorder", ""), _dropped(manifest) or otherwise)


@contextmanager
def explain_missing(
    manifest: Manifest, what_to_do: Callable[[Manifest, str], str]
) -> Iterator[None]:
    """Around a question: an error for want of calls says what to do about it for this run."""
    try:
        yield
    except NotRecorded as error:
        raise NotRecorded(error.what, what_to_do(manifest, error.again)) from None
