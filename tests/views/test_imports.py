"""Views start light: what draws is imported when something is drawn."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

import headway.views
import headway.views.pictures
import headway.views.report

from .loading import loaded_by


def modules_of(package: str, file: str) -> list[str]:
    return [f"{package}.{path.stem}" for path in sorted(Path(file).parent.glob("[!_]*.py"))]


def test_importing_a_view_loads_nothing_but_the_standard_library_and_the_core() -> None:
    modules = modules_of("headway.views", headway.views.__file__)
    loaded = loaded_by(*modules)
    assert [*loaded] == modules
    assert [name for name in loaded if "headway" not in loaded[name]] == []
    assert {name: found for name in loaded if (found := loaded[name] & {"rich", "click", "pydantic", "csv"})} == {}


@pytest.mark.parametrize("package", [headway.views.pictures, headway.views.report], ids=["pictures", "report"])
def test_a_part_of_the_views_needs_nothing_but_the_standard_library_and_the_core(package: ModuleType) -> None:
    assert package.__file__ is not None
    modules = modules_of(package.__name__, package.__file__)
    loaded = loaded_by(*modules)
    assert [*loaded] == modules
    assert {name: found for name in loaded if (found := loaded[name] & {"rich", "click", "pydantic"})} == {}
