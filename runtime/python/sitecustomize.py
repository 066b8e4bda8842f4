"""`fathom run --regions NAME=FILE:FUNCTION`: marks functions of a Python program as regions, without a change to it.

Every interpreter under Fathom loads it at its start, from PYTHONPATH: CPython from 3.8 on, and nothing from outside of
its own library. From 3.12 on only the functions that are regions cost anything; before, each call of a function does.
"""

import os
import sys


class Region:
    """The functions that are one, and what they are called in the trace."""

    def __init__(self, text):
        """`NAME=FILE:FUNCTION`; a method is CLASS.METHOD."""
        name, _, place = text.partition("=")
        file, _, self.function = place.rpartition(":")
        self.name = name.encode()
        self.file = "/" + file.lstrip("/")

    def has(self, code):
        """Is it the code of one of its functions? Before 3.11 a method is known by its own name alone."""
        name = getattr(code, "co_qualname", None)
        same = name == self.function if name else code.co_name == self.function.rpartition(".")[2]
        return same and ("/" + code.co_filename.lstrip("/")).endswith(self.file)


class Regions:
    """Begins and ends them in this process."""

    def __init__(self, wanted, begin, end):
        """`begin`, `end`: Fathom's own."""
        self.wanted, self.begin, self.end = wanted, begin, end
        self.names = {}  # by code

    def name(self, code):
        """Of the region that the code is; None: it is none."""
        try:
            return self.names[code]
        except KeyError:
            found = [one.name for one in self.wanted if one.has(code)]
            return self.names.setdefault(code, found[0] if found else None)

    def watch(self):
        """By the interpreter's events; it is asked no more about code that is no region."""
        monitoring = sys.monitoring
        events = monitoring.events
        tool = next(one for one in (4, 3, 1, 2) if monitoring.get_tool(one) is None)
        monitoring.use_tool_id(tool, "fathom")

        def on(do, otherwise):
            def event(code, *_):
                name = self.name(code)
                if name is None:
                    return otherwise
                return do(name)

            return event

        begin, end = self.begin, self.end
        watched = (
            (events.PY_START, on(begin, monitoring.DISABLE)),
            (events.PY_RESUME, on(begin, monitoring.DISABLE)),
            (events.PY_THROW, on(begin, None)),
            (events.PY_RETURN, on(end, monitoring.DISABLE)),
            (events.PY_YIELD, on(end, monitoring.DISABLE)),
            (events.PY_UNWIND, on(end, None)),
        )
        for event, call in watched:
            monitoring.register_callback(tool, event, call)
        monitoring.set_events(tool, sum(event for event, _ in watched))

    def profile(self):
        """By a profile function, of this thread and all that begin."""
        import threading

        def event(frame, what, _):
            if what == "call" or what == "return":
                name = self.name(frame.f_code)
                if name is not None:
                    (self.begin if what == "call" else self.end)(name)

        threading.setprofile(event)
        sys.setprofile(event)


def start(text):
    """Where Fathom traces this process."""
    import ctypes

    library = ctypes.PyDLL(None)
    if not hasattr(library, "fathom_begin_with"):
        return
    library.fathom_begin_with.argtypes = [ctypes.c_char_p, ctypes.c_void_p]
    library.fathom_begin_with.restype = None
    library.fathom_end.argtypes, library.fathom_end.restype = [ctypes.c_char_p], None
    wanted = [Region(one) for one in text.split("\n")]
    regions = Regions(
        wanted, lambda name: library.fathom_begin_with(name, None), library.fathom_end
    )
    if hasattr(sys, "monitoring"):
        regions.watch()
    else:
        regions.profile()


def next_of_them():
    """The one that would have been loaded without us."""
    library = __file__.rpartition("/")[0]
    sys.path[:] = [one for one in sys.path if one != library]
    ours = sys.modules.pop(__name__)
    try:
        import sitecustomize  # noqa: F401
    finally:
        sys.modules.setdefault(__name__, ours)


if os.environ.get("FATHOM_REGIONS"):
    start(os.environ["FATHOM_REGIONS"])
try:  # noqa: SIM105 - contextlib takes its time
    next_of_them()
except ImportError:  # there is no other
    pass
