"""Words for orders of every kind, and the commands that end them."""

import pytest

from balancer.decision.placement import Scope
from replicator.orders.order_records import (
    AcceptLaneLosses,
    ByHand,
    Exclusion,
    Freeze,
    Hold,
    Pause,
    Pin,
    RefreshSchema,
    RotateTable,
    SettleTable,
    SkipReplay,
)
from tests.tui.balance_records import FIELDS, stream
from tui.facts.order_words import ending_words, order_text

PIN = Pin(**FIELDS, topic="orders", partition=3, carrier=2)
OF_FEED = {**FIELDS, "route": "flights"}
FREEZE = Freeze(**OF_FEED, topic="t", partition=0, cluster="west regional", table="hits", why="w")
SKIP = SkipReplay(
    **OF_FEED, cluster="west regional", topic="t", partition=1, table="hits", begin=3, end=9
)


@pytest.mark.parametrize(
    ("order", "text"),
    [
        (FREEZE, "freeze table hits in west regional t-0"),
        (Freeze(**OF_FEED), "freeze all topics"),
        (Freeze(**OF_FEED, topic="t"), "freeze topic t"),
        (RefreshSchema(**OF_FEED), "read the columns of all tables again"),
        (RefreshSchema(**OF_FEED, table="hits"), "read the columns of hits again"),
        (SettleTable(**OF_FEED, table="hits"), "settle upsert table hits"),
        (RotateTable(**OF_FEED, table="hits"), "rotate the state of upsert table hits"),
        (
            AcceptLaneLosses(**OF_FEED, table="hits", losses=((3, "x", 5, 9),)),
            "accept what segments 3 of upsert table hits have lost",
        ),
        (SKIP, "skip offsets [3, 9) of table hits in west regional t-1"),
        (PIN, "pin orders-3 to carrier 2"),
        (Exclusion(**FIELDS, carrier=1), "exclude carrier 1"),
        (Hold(**FIELDS), "hold stream default"),
        (Pause(**FIELDS, topic="orders"), "pause topic orders"),
        (Pause(**FIELDS, topic="orders", partition=0), "pause orders-0"),
        (stream(is_paused=True), "stream money (paused): pay.*"),
        (stream(threshold=0.5, carriers_max=2), "stream money: pay.* threshold=0.5 carriers_max=2"),
        (
            ByHand(**FIELDS, id="x", scope=Scope.FULL, generation=4),
            "place stream default (full) upon generation 4",
        ),
    ],
)
def test_every_kind_of_order_has_a_text(order, text):
    assert order_text(order) == text


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (PIN, "balance unpin orders 3 --route west>east"),
        (Exclusion(**FIELDS, carrier=1), "balance include 1 --route west>east"),
        (Hold(**FIELDS), "balance resume --route west>east --stream default"),
        (Pause(**FIELDS, topic="orders"), "stream resume-topic orders --route west>east"),
        (
            Pause(**FIELDS, topic="orders", partition=0),
            "stream resume-topic orders --route west>east --partition 0",
        ),
        (stream(is_paused=True), "stream resume money --route west>east"),
        (stream(), ""),
        (ByHand(**FIELDS, id="x", scope=Scope.FULL, generation=4), ""),
    ],
)
def test_an_order_names_the_command_that_ends_it(order, words):
    assert " ".join(ending_words(order)) == words
