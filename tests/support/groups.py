"""Tests that share a server or a browser run in one worker: they are marked `xdist_group`.

xdist writes the group of a test into its id, in a place where pytest 9.2 does not look: without what is here, groups
mean nothing (https://github.com/pytest-dev/pytest-xdist/issues/1386).
"""

from __future__ import annotations

import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        with_group = vars(item).get("_nodeid", item.nodeid)
        if with_group != item.nodeid:
            object.__setattr__(item, "_id", type(item.id).parse(with_group))
