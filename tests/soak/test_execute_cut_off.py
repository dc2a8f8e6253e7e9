"""Executions that are cut off and killed again and again, in lists of all shapes: the full counts."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.execute.dags import Dag, dags
from tests.execute.resuming import cut_and_resumed, killed_and_resumed

MANY = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
CUTS = st.lists(st.integers(1, 90), min_size=1, max_size=4)


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [1, 3])
@MANY
@given(dag=dags(most=6), cuts=CUTS)
def test_cut_off_again_and_again_it_ends_as_if_undisturbed(parallel: int, dag: Dag, cuts: list[int]) -> None:
    asyncio.run(cut_and_resumed(dag, cuts, parallel))


@pytest.mark.slow
@pytest.mark.parametrize("parallel", [1, 3])
@MANY
@given(dag=dags(most=6), cuts=CUTS)
def test_killed_again_and_again_it_ends_as_if_undisturbed(parallel: int, dag: Dag, cuts: list[int]) -> None:
    killed_and_resumed(dag, cuts, parallel)
