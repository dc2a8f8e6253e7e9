from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import httpcore2
import pytest


@pytest.fixture(scope="package", autouse=True)
def certificates_are_loaded_once() -> Iterator[None]:
    """Every client loads all certificates of the system, which takes longer than asking a server on loopback."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(httpcore2, "default_ssl_context", cache(httpcore2.default_ssl_context))
        yield
