"""H5Tuner's XML, read and written: Behzad et al., "Taming parallel I/O complexity with auto-tuning", SC 2013."""

from xml.etree import ElementTree

from fathom.errors import UsageError
from fathom.tune.settings.settings import Reader, Rule, Setting, Settings

ROOT = "Parameters"
SECTIONS = {
    "High_Level_IO_Library": ("sieve_buf_size", "alignment", "chunk"),
    "Middleware_Layer": ("cb_nodes", "cb_buffer_size", "bgl_nodes_pset", "IBM_largeblock_io"),
    "Parallel_File_System": ("striping_factor", "striping_unit", "IBM_lockless_io"),
}
#: Tag -> the catalog's knob. H5Tuner looks tags up wherever they stand; sections are for readers.
KNOBS = {
    "sieve_buf_size": "hdf5.sieve_buf_size",
    "alignment": "hdf5.alignment",
    "chunk": "hdf5.chunk",
    "cb_nodes": "romio.cb_nodes",
    "cb_buffer_size": "romio.cb_buffer_size",
    "striping_factor": "romio.striping_factor",
    "striping_unit": "romio.striping_unit",
    "bgl_nodes_pset": "sites.bgl_nodes_pset",
    "IBM_largeblock_io": "sites.IBM_largeblock_io",
    "IBM_lockless_io": "sites.IBM_lockless_io",
}
#: H5Tuner's form has no word for consent.
ACCEPTED = ("all-ranks",)


def read(name: str, text: str) -> Settings:
    """The settings of H5Tuner's configuration; FileName holds where a file's name contains it."""
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise UsageError(f"{name}: is not XML: {error}") from error
    reader = Reader(name, ACCEPTED)
    if root.tag != ROOT:
        raise reader.fail("", f"begins with <{root.tag}>; H5Tuner's files begin with <{ROOT}>")
    rules: dict[tuple[str, str], list[Setting]] = {}
    for section in root:
        if section.tag not in SECTIONS:
            raise reader.fail(f"<{section.tag}>", f"is none of {', '.join(SECTIONS)}")
        for element in section:
            file, dataset, setting = _element(reader, element)
            rules.setdefault((file, dataset), []).append(setting)
    if not rules:
        raise reader.fail("", "sets nothing")
    # what holds for all files comes first: what names one wins
    ordered = sorted(rules.items(), key=lambda item: (bool(item[0][0]), bool(item[0][1])))
    return Settings(
        tuple(Rule((f"*{file}*",) if file else (), dataset, tuple(settings))
              for (file, dataset), settings in ordered),
        (), (),
    )  # fmt: skip


def _element(reader: Reader, element: ElementTree.Element) -> tuple[str, str, Setting]:
    where = f"<{element.tag}>"
    if element.tag not in KNOBS:
        raise reader.fail(where, f"is no parameter of H5Tuner; there are {', '.join(KNOBS)}")
    for key in element.attrib:
        if key not in ("FileName", "variable"):
            raise reader.fail(where, f"no attribute '{key}'; there are FileName and variable")
    layer, _, name = KNOBS[element.tag].partition(".")
    words = [word.strip() for word in (element.text or "").split(",")]
    given: str | list[str] = words if layer == "hdf5" and len(words) > 1 else ",".join(words)
    setting = reader.setting(where, layer, name, given)
    variable = element.get("variable", "")
    if variable and element.tag != "chunk":
        raise reader.fail(where, "only a chunk is a variable's")
    dataset = f"*{variable.strip('/')}" if variable else ""
    return element.get("FileName", ""), dataset, setting


def write(settings: Settings) -> tuple[str, list[str]]:
    """H5Tuner's XML, and what it has no word for."""
    tags = {key: tag for tag, key in KNOBS.items()}
    root = ElementTree.Element(ROOT)
    sections = {name: ElementTree.SubElement(root, name) for name in SECTIONS}
    left_out = [f"{one.knob.key}: holds for the launch" for one in settings.launch]
    left_out += [f"layout of {layout.directory}" for layout in settings.layouts]
    for rule in settings.rules:
        file = _substring(rule.files)
        for setting in rule.settings:
            tag = tags.get(setting.knob.key) or tags.get(f"romio.{setting.knob.name}")
            if tag is None or file is None or "*" in rule.dataset.removeprefix("*"):
                left_out.append(f"{setting.knob.key} of {', '.join(rule.files) or 'all files'}")
                continue
            section = next(name for name, known in SECTIONS.items() if tag in known)
            element = ElementTree.SubElement(sections[section], tag)
            element.text = setting.text
            if file:
                element.set("FileName", file)
            if rule.dataset:
                element.set("variable", rule.dataset.removeprefix("*"))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n", left_out


def _substring(globs: tuple[str, ...]) -> str | None:
    """What a file's name must contain; None: H5Tuner cannot say it."""
    if not globs:
        return ""
    glob = globs[0]
    inner = glob.removeprefix("*").removesuffix("*")
    contains = len(globs) == 1 and f"*{inner}*" == glob
    return inner if contains and inner and not set("*?[!") & set(inner) else None
