"""Previews that an operator selects by stream and topic."""

import pytest

from replicator.config.topology import Route
from tests.tui.balance_records import ROUTE
from tests.tui.output.balancing import needs
from tui.facts.streams import UnknownStream
from tui.orders.previews import NotCarried, check_topic_carried, selected_previews

PREVIEW = needs().previews[0]


def test_previews_are_selected_by_route_and_stream():
    assert selected_previews([PREVIEW], [ROUTE], None) == (PREVIEW,)
    assert selected_previews([PREVIEW], [ROUTE], "default") == (PREVIEW,)
    with pytest.raises(UnknownStream, match="no stream 'gold'; known: default"):
        selected_previews([PREVIEW], [ROUTE], "gold")
    with pytest.raises(UnknownStream):
        selected_previews([PREVIEW], [Route("east", "east")], None)


def test_a_topic_that_is_not_carried_is_refused_with_similar_names():
    check_topic_carried([PREVIEW], "orders")
    with pytest.raises(NotCarried, match="nothing of topic 'order' is carried there; is it orders"):
        check_topic_carried([PREVIEW], "order")
