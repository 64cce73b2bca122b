"""Scope: the part of a feed that a command names."""

import pytest

from aggregator.loader.reports import FeedPartition
from tui.facts.feed_scope import Scope

PARTITION = FeedPartition("west regional", "flights", 3)


@pytest.mark.parametrize(
    ("scope", "has"),
    [
        (Scope(), True),
        (Scope(table="departures"), True),
        (Scope(cluster="west regional", topic="flights", partition=3), True),
        (Scope(cluster="east regional"), False),
        (Scope(topic="clicks"), False),
        (Scope(topic="flights", partition=0), False),
    ],
)
def test_a_scope_has_the_partitions_that_it_names(scope, has):
    assert scope.has(PARTITION) is has
