"""Views start light: what draws is imported when something is drawn."""

from __future__ import annotations

from pathlib import Path

import headway.views
import headway.views.pictures

from .loading import loaded_by


def modules_of(package: str, file: str) -> list[str]:
    return [f"{package}.{path.stem}" for path in sorted(Path(file).parent.glob("[!_]*.py"))]


def test_importing_a_view_loads_nothing_but_the_standard_library_and_the_core() -> None:
    modules = modules_of("headway.views", headway.views.__file__)
    loaded = loaded_by(*modules)
    assert [*loaded] == modules
    assert [name for name in loaded if "headway" not in loaded[name]] == []
    assert {name: found for name in loaded if (found := loaded[name] & {"rich", "click", "pydantic", "csv"})} == {}


def test_pictures_need_nothing_but_the_standard_library_and_the_core() -> None:
    modules = modules_of("headway.views.pictures", headway.views.pictures.__file__)
    loaded = loaded_by(*modules)
    assert [*loaded] == modules
    assert {name: found for name in loaded if (found := loaded[name] & {"rich", "click", "pydantic"})} == {}
