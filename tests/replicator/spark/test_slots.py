"""With dynamic allocation the configuration limits the task slots."""

import pytest

from replicator.spark.slots import CORES, ENABLED, EXECUTORS_MAX, SlotsUnlimited, slots_at_most


def test_without_dynamic_allocation_nothing_is_said():
    assert slots_at_most({}) == slots_at_most({ENABLED: "false", EXECUTORS_MAX: "3"}) == 0


def test_with_it_all_that_may_be_added_counts():
    assert slots_at_most({ENABLED: "True", EXECUTORS_MAX: "3", CORES: "2"}) == 6


@pytest.mark.parametrize("given", [{}, {CORES: "2"}, {EXECUTORS_MAX: "many", CORES: "2"}])
def test_without_a_limit_it_is_refused_with_what_to_set(given):
    with pytest.raises(SlotsUnlimited, match="maxExecutors"):
        slots_at_most({ENABLED: "true", **given})
