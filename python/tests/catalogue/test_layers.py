"""Facts about layers stand once: what other languages have of catalog/layers.toml is what it says now."""

from pathlib import Path

import pytest
from fathom.catalogue import layers
from fathom.run import paths


@pytest.mark.parametrize("name", layers.FILES)
def test_other_languages_have_what_the_file_says(name: str) -> None:
    assert (paths.SOURCE_TREE / name).read_text(encoding="utf-8") == layers.FILES[name](), (
        "make facts"
    )


def test_a_change_is_written(tmp_path: Path) -> None:
    for name in layers.FILES:
        (tmp_path / name).parent.mkdir(parents=True)
    assert layers.write_facts(tmp_path) == list(layers.FILES)
    assert layers.write_facts(tmp_path) == []


def test_bits_and_names_are_of_one_layer_each() -> None:
    every = layers.layers()
    bits = [layer.bit for layer in every if layer.bit is not None]
    assert len(set(bits)) == len(bits) and max(bits) == layers.bits()["fathom"] == 31
    assert (
        len({layer.name for layer in every}) == len({layer.title for layer in every}) == len(every)
    )
