"""Checkpoints for any two trees: there and back again; and for any two items that share no file."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counts import some
from tests.support.projects import temporary_folder

from headway.execute.shadow_repository import ShadowRepository

from .shadows import Content, Link, Program, become, files, write

_NAMES = st.sampled_from(["a", "b", "c d", "-e", "ü\n", ".h"])
_CONTENTS: st.SearchStrategy[Content] = st.one_of(
    st.sampled_from([b"", b"1\n", b"1\r\n", b"\0\xff", b"line\n" * 30]),
    st.binary(max_size=20),
    st.builds(Program, st.sampled_from([b"", b"1\n", b"#!/bin/sh\n"])),
    st.builds(Link, st.sampled_from(["a", "b", "..", "/etc", "c d/a", "1\n", "nowhere"])),
)


def _without_overlaps(paths: dict[str, Content]) -> dict[str, Content]:
    """A file that is a folder of another one gives way."""
    return {path: content for path, content in paths.items() if not any(p.startswith(f"{path}/") for p in paths)}


_PATHS = st.lists(_NAMES, min_size=1, max_size=3).map("/".join)
_TREES = st.dictionaries(_PATHS, _CONTENTS, max_size=8).map(_without_overlaps)


@settings(max_examples=some(30))
@given(one=_TREES, two=_TREES)
def test_any_tree_comes_back_from_any_other(one: dict[str, Content], two: dict[str, Content]) -> None:
    with temporary_folder() as project:
        shadow = ShadowRepository(project)
        write(project, one)
        first = shadow.snapshot()
        become(project, two)
        second = shadow.snapshot()
        differ = sorted(path for path in {*one, *two} if one.get(path) != two.get(path))
        assert shadow.list_changed(first, second) == differ
        assert sorted(shadow.apply_change(second, first)) == differ
        assert files(project) == one
        assert shadow.list_changed(shadow.snapshot(), first) == []
        shadow.apply_change(first, second)
        assert files(project) == two


@settings(max_examples=some(30, 5))
@given(base=_TREES, data=st.data())
def test_items_that_share_no_file_are_merged_to_what_both_did(base: dict[str, Content], data: st.DataObject) -> None:
    sides: list[dict[str, Content | None]] = [{}, {}]
    for path in base:
        side = data.draw(st.sampled_from([0, 1, None]))
        if side is not None:
            sides[side][path] = data.draw(st.one_of(st.none(), _CONTENTS))
    for number, side in enumerate(sides):  # new ones in folders of their own, so that none is in the other's way
        for path, content in data.draw(st.dictionaries(_PATHS, _CONTENTS, max_size=3).map(_without_overlaps)).items():
            side[f"new{number}/{path}"] = content
    with temporary_folder() as project:
        shadow = ShadowRepository(project)
        write(project, base)
        first = shadow.snapshot()
        commits: list[str] = []
        for number, side in enumerate(sides):
            folder = shadow.make_worktree(f"t{number}", first)
            become(folder, _changed(base, side))
            commits.append(shadow.snapshot_worktree(f"t{number}", first))
        both, conflicts = shadow.merge(first, *commits)
        assert conflicts == []
        assert both is not None
        shadow.apply_change(first, both)
        assert files(project) == _changed(base, {**sides[0], **sides[1]})


def _changed(base: dict[str, Content], changes: dict[str, Content | None]) -> dict[str, Content]:
    return {path: content for path, content in {**base, **changes}.items() if content is not None}
