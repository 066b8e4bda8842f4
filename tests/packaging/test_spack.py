"""The recipe for Spack asks for what the build asks for; Spack itself cannot be had here."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib

from harness import paths


def asked() -> dict[str, str]:
    """Least version of each dependency in the recipe, "" where any will do."""
    tree = ast.parse((paths.ROOT / "packaging" / "spack" / "package.py").read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    words = [
        ast.literal_eval(call.args[0])
        for call in calls
        if isinstance(call.func, ast.Name) and call.func.id == "depends_on"
    ]
    return {name: least.rstrip(":") for name, _, least in (word.partition("@") for word in words)}


def found(file: str, pattern: str) -> str:
    match = re.search(pattern, (paths.ROOT / file).read_text())
    assert match, f"{file}: no {pattern}"
    return match[1]


def test_the_recipe_asks_for_what_the_build_asks_for() -> None:
    project = tomllib.loads((paths.ROOT / "pyproject.toml").read_text())["project"]
    web = json.loads((paths.ROOT / "web" / "package.json").read_text())
    assert asked() == {
        "c": "",
        "cmake": found("CMakeLists.txt", r"cmake_minimum_required\(VERSION ([\d.]+)"),
        "ninja": "",
        "rust": found("packaging/install-deps.sh", r"need_version cargo ([\d.]+)"),
        "node-js": web["engines"]["node"].removeprefix(">="),
        "npm": "",
        "pkgconfig": "",
        "libfuse": found("forward/CMakeLists.txt", r"fuse3>=([\d.]+)"),
        "libfabric": "",
        "python": project["requires-python"].removeprefix(">="),
    }


def test_the_recipe_builds_what_is_packed() -> None:
    """All of build/ that the wheel takes is behind the target that the recipe names."""
    recipe = (paths.ROOT / "packaging" / "spack" / "package.py").read_text()
    target = re.search(r'which\("ninja", required=True\)\("-C", "build", "(\w+)"\)', recipe)
    assert target
    words = ["ninja", "-C", paths.BUILD, "-t", "commands", target[1]]
    made = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    for file in ("libfathom.so", "libfathom_fwd_preload.so", "libfathom-static.a"):
        assert re.search(rf"{file}\b", made), file
