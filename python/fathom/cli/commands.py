"""The commands in groups, and the help that lists them. Loads nothing: `fathom --help` is there at once."""

# In the order a user meets them; what each does is the first line of its module.
GROUPS = {
    "record": {
        "demo": "a small program that writes badly, recorded and explained",
        "run": "run a program and record its I/O",
        "attach": "record programs that run already",
        "detach": "end that; the programs run on",
        "select": "change what is recorded of a run, while it runs",
        "env": "print the environment that records, for batch scripts",
        "cc": "link a static program so that it can be recorded",
        "import": "make a run of a log of Darshan, strace, DFTracer or Recorder",
        "study": "record many runs by a plan: ranks, servers, values, programs",
    },
    "read": {
        "show": "one screen: where the I/O time of a run went, and what to change",
        "explain": "that screen as data: each number, its unit, where it is from",
        "view": "a run in a web browser: when, where, which call, through all layers",
        "query": "how long calls took in which layer; a run's tables by SQL",
        "diff": "two runs side by side: what takes more or less time, and why",
        "top": "what a run does right now, while it runs",
        "annotate": "source files with seconds, bytes and findings at their lines",
        "mcp": "a run's answers for assistants: Model Context Protocol",
        "check": "a run's I/O against limits: what rose, and which lines did it",
        "report": "one HTML file with a run's pictures, to mail and to keep",
        "landscape": "many runs in one table: which I/O, how long, by whom, what, when",
        "collect": "runs into a lake: the tables of all jobs of a centre",
        "patterns": "how data are spread over ranks: BLOCK, CYCLIC, …",
    },
    "change": {
        "tune": "search for the settings with which a program is fastest",
        "generate": "parallel I/O code from hints: checked, planned, explained",
        "forward": "servers that do a program's I/O on the real file system",
        "replay": "make the I/O of a run again, without its program; or write it as C",
    },
    "maintain": {
        "doctor": "what will not work here, and why",
        "list": "what Fathom can see, what can be set, and what of it is alive here",
        "pack": "a run's tables made now; its parts from other nodes; one file of it",
        "export": "a run, or a part of it, for other tools: OTF2, Perfetto, Parquet",
        "anonymise": "a copy of a run without anybody's names, to be given away",
    },
}
COMMANDS = {name: what for group in GROUPS.values() for name, what in group.items()}
#: Not on the first screen.
RARE = (
    *("demo", "detach", "select", "cc", "study", "landscape", "patterns", "replay", "export"),
    *("explain", "check", "annotate", "mcp", "collect", "anonymise"),
)
#: Commands that load Arrow at once, and of whose arrays none is NumPy's.
WITHOUT_NUMPY = frozenset(("query",))
#: Words that are no command of their own module.
HELP = {
    "help": "this list; fathom help COMMAND: what it takes; --all: all",
    "version": "which Fathom this is",
}
EPILOG = """examples:
  fathom demo
  fathom run -- mpiexec -n 4 ./s3d 200 200 200
  fathom show s3d.1
"""


def help_text(every: bool = False) -> str:
    """The commands by group: those of the first screen, or `every` one."""
    lines = [
        "usage: fathom COMMAND [options]",
        "",
        "Shows where the I/O time of a parallel program goes.",
    ]
    for group, commands in GROUPS.items():
        lines += ["", group]
        lines += [
            f"  {name:10}{what}" for name, what in commands.items() if every or name not in RARE
        ]
    if every:
        lines += ["", "help", *(f"  {name:10}{what}" for name, what in HELP.items())]
    else:
        half = len(RARE) // 2
        lines += ["", f"more: {', '.join(RARE[:half])},", f"      {', '.join(RARE[half:])}"]
        lines += ["      fathom help --all lists all; fathom help COMMAND says what one takes"]
    return "\n".join([*lines, "", EPILOG])
