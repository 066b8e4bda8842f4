"""The form of `fathom generate` as somebody new uses it: from an empty C file to a file that is read back."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from harness import browser, generated, needs
from playwright.sync_api import Browser, expect

COUNT = "count along y of field in write"


@pytest.fixture(scope="module")
def served(
    chromium: Browser, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[browser.Live, Path]]:
    """`fathom view --generate solver.c --allow-write`, and the file."""
    path = tmp_path_factory.mktemp("form") / "solver.c"
    path.write_text("")
    with browser.live(chromium, "--generate", path, "--allow-write") as live:
        yield live, path


@pytest.fixture
def source(served: tuple[browser.Live, Path]) -> Path:
    """An empty C file, alone in its folder."""
    for one in served[1].parent.iterdir():
        one.unlink()
    served[1].write_text("")
    return served[1]


@pytest.fixture
def form(served: tuple[browser.Live, Path], source: Path) -> Iterator[browser.Look]:
    """The page, as it is opened first."""
    assert source.read_text() == ""
    with served[0].look() as look:
        assert look.screen in ("", "generate")
        look.go("generate")
        yield look


def press(form: browser.Look, name: str) -> None:
    form.page.get_by_role("button", name=name, exact=True).click()
    form.settle()


def place(form: browser.Look) -> None:
    """A program to begin with, and a write point below the line that says where."""
    press(form, "Begin with a small C program")
    editor = form.page.get_by_label("Text of solver.c")
    editor.wait_for()
    editor.evaluate(
        "one => { const at = one.value.indexOf('/* Here'); one.focus(); one.setSelectionRange(at, at) }"
    )
    form.page.keyboard.press("ArrowLeft")
    press(form, "Write below")
    form.page.get_by_text("checkpoint_io.c", exact=True).wait_for()


def text(form: browser.Look) -> str:
    return form.page.get_by_label("Text of solver.c").input_value()


def run(folder: Path, *words: str) -> str:
    """What it says."""
    done = subprocess.run(
        words, cwd=folder, check=True, timeout=300, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def test_from_an_empty_file_to_a_checkpoint(form: browser.Look, source: Path) -> None:
    place(form)
    assert form.violations() == []
    assert form.nodes() < 3000
    assert "checkpoint_write" in form.text(".code")
    press(form, "Write beside solver.c")
    expect(form.page.get_by_label("Text of solver.c")).to_have_value(re.compile("checkpoint_write"))
    assert source.read_text() == text(form)
    flags = generated.flags("pnetcdf", "openmpi", "c")
    needs.require(["mpicc.openmpi", "mpiexec.openmpi", "ncdump"])
    built = "mpicc.openmpi -std=c11 -Wall -Wextra -Werror -o solver solver.c checkpoint_io.c"
    run(source.parent, *built.split(), *flags)
    run(source.parent, *generated.LAUNCH["ompio"], "-n", "4", "./solver")
    dumped = run(source.parent, "ncdump", "-v", "field", "checkpoint.nc")
    numbers = dumped.partition("field =")[2].strip(" ;}\n").split(",")
    assert [float(one) for one in numbers] == [1000.0 * y + x for y in range(1024) for x in range(1024)]  # fmt: skip


def test_form_and_text_are_one(form: browser.Look) -> None:
    """What is typed into a field stands in the text, and the other way round; a mistake is said at both."""
    place(form)
    field = form.page.get_by_label(COUNT)
    field.fill("y / nprocs + 3")
    assert "rank * (y / nprocs), y / nprocs + 3, 0, x, field;" in text(form)
    form.page.locator(".access .wrong").wait_for()
    assert "out of bounds" in form.text(".mistake")
    assert field.get_attribute("aria-invalid") == "true"
    press(form, "Who owns what")
    picture = form.page.locator("canvas.above")
    expect(picture).to_have_attribute("aria-label", re.compile("rank 3: field.y 768 to 1026"))
    assert form.violations() == []
    editor = form.page.get_by_label("Text of solver.c")
    editor.fill(text(form).replace("y / nprocs + 3", "y / nprocs").replace("x: 1024", "x: 512"))
    expect(form.page.get_by_label("value of x", exact=True)).to_have_value("512")
    expect(form.page.get_by_label(COUNT)).to_have_value("y / nprocs")
    expect(form.page.locator(".mistake")).to_have_count(0)
    press(form, "Undo")
    expect(form.page.get_by_label("value of x", exact=True)).to_have_value("1024")


def test_the_form_writes_statements(form: browser.Look) -> None:
    """Dimensions, variables, attributes, options, accesses, points: added, changed, taken out."""
    place(form)
    press(form, "Add a dimension")
    expect(form.page.get_by_label("value of z", exact=True)).to_have_value("64")
    press(form, "Add a variable")
    form.page.get_by_label("type of field2").select_option("int32")
    press(form, "One more dimension of field2")
    expect(form.page.get_by_label("dimension 3 of field2")).to_have_value("z")
    press(form, "Add an access")
    press(form, "Add an attribute")
    form.page.get_by_label("library", exact=True).select_option("hdf5")
    form.page.get_by_label("file", exact=True).fill('"run.h5"')
    form.page.get_by_label("file", exact=True).press("Tab")
    form.settle()
    press(form, "Read below")
    form.page.wait_for_function("() => document.querySelector('.code')?.textContent.includes('hdf5.h')")  # fmt: skip
    written = text(form)
    for one in (
        "z: 64;", "field2: int32, 3, y, x, z;", 'units: field, text, "K";', "library: hdf5;", 'file: "run.h5";',
        "array: *, field2, rank * (y / nprocs), y / nprocs, 0, x, 0, z, field2;", "/*@iog begin_read",
    ):  # fmt: skip
        assert one in written
    press(form, "Plan and reasons")
    form.page.get_by_label("calls of write").select_option("independent")
    assert "calls: independent;" in text(form)
    press(form, "Remove attribute units")
    assert "units" not in text(form)
    attribute_that_is_worked_out(form)
    type_made_of_members(form)
    assert form.violations() == []


def type_made_of_members(form: browser.Look) -> None:
    """Fields for what a member is, how it is called, how long it is; variables may be of the type."""
    press(form, "Add a type")
    form.page.get_by_label("name of member 2 of particle").fill("cells")
    form.page.get_by_label("length of member 2 of particle").fill("3")
    press(form, "One more member of particle")
    form.page.get_by_label("type of member 3 of particle").select_option("int8")
    press(form, "Remove member 1 of particle")
    form.page.get_by_label("type of field2", exact=True).select_option("particle")
    assert "particle: int cells[3], int8 value;" in text(form)
    assert "field2: particle, 3, y, x, z;" in text(form)
    expect(form.page.locator(".mistake")).to_have_count(0)


def attribute_that_is_worked_out(form: browser.Look) -> None:
    """A field for each value; what may stand in an expression is offered; a mistake is said at its field."""
    press(form, "Add an attribute")
    form.page.get_by_label("type of units").select_option("int")
    form.page.get_by_label("value of units", exact=True).fill("total(y / nprocs)")
    press(form, "One more value of units")
    last = form.page.get_by_label("value 2 of units", exact=True)
    assert form.page.locator(f"#{last.get_attribute('list')} option[value='x']").count() == 1
    last.fill("rank")
    form.page.locator(".attribute .wrong").wait_for()
    assert last.get_attribute("aria-invalid") == "true"
    last.fill("x * y")
    expect(form.page.locator(".mistake")).to_have_count(0)
    assert "units: field, int, total(y / nprocs), x * y;" in text(form)


@pytest.mark.full
def test_dark_is_clean_too(form: browser.Look) -> None:
    place(form)
    form.go("generate", theme="dark")
    for tab in ("Code", "Who owns what", "Plan and reasons"):
        press(form, tab)
        assert form.violations() == [], tab
