"""What processes and the launch get of settings: docs/settings.md, "What processes read"."""

from collections.abc import Iterator

from fathom.tune.settings.settings import Rule, Setting, Settings

HEAD = "fathom-tuned 1"


def text(settings: Settings) -> str:
    """The lines that the launch and every traced process read."""
    lines = [f"environment {name} {value}" for name, value in _variables(settings)]
    lines += [f"romio {hint.knob.name} {hint.text}" for hint in _hints(settings, romio=True)]
    lines += [
        f"option {one.knob.name} {one.text}"
        for one in settings.launch
        if one.knob.route == "option"
    ]
    lines += [line for rule in settings.rules for line in _rule(rule)]
    return "\n".join([HEAD, *lines]) + "\n"


def _rule(rule: Rule) -> Iterator[str]:
    yield "rule"
    yield from (f"file {glob}" for glob in rule.files)
    if rule.dataset:
        yield f"dataset {rule.dataset}"
    for setting in rule.settings:
        if setting.knob.route == "mpi-info":
            yield f"info {setting.knob.name} {setting.text}"
            # the library made its buffers when it opened the file
            if setting.knob.later and setting.knob.values[0].kind != "bytes":
                yield f"anew {setting.knob.name}"
        else:
            yield f"set {setting.knob.name} {' '.join(setting.values)}"


def _variables(settings: Settings) -> Iterator[tuple[str, str]]:
    for one in settings.launch:
        if one.knob.route == "mca":
            yield f"OMPI_MCA_{one.knob.name}", one.text
        elif one.knob.route == "environment":
            yield one.knob.name, one.text
    pnetcdf = [f"{hint.knob.name}={hint.text}" for hint in _hints(settings, romio=False)]
    if pnetcdf:
        yield "PNETCDF_HINTS", ";".join(pnetcdf)


def _hints(settings: Settings, romio: bool) -> list[Setting]:
    """Hints of the launch: PnetCDF's own, or the others, which are lines of the file that ROMIO_HINTS names."""
    return [
        one
        for one in settings.launch
        if one.knob.route == "mpi-info" and (one.knob.layer.name != "pnetcdf") == romio
    ]
