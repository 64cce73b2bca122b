"""Result of a manual order, by what is read of the order log until the time is over."""

import pytest

from balancer.decision.placing import Scope
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import ByHand, key_of
from tests.tui.balance_records import SAID, book_of, lease, placed
from tui.actions import manual_placement as by_hand
from tui.cli.views.manual_placement_view import Applied, as_text

ORDER = ByHand(**SAID, id="ours", scope=Scope.STICKY, generation=3)
OLDER = ORDER.model_copy(update={"id": "older", "who": "eve@ops", "at_ms": SAID["at_ms"] - 1})
LATER = ORDER.model_copy(update={"id": "later", "who": "eve@ops", "at_ms": SAID["at_ms"] + 1})


class PretendDesk:
    """Balance client that takes every order."""

    name, region, cluster = "east aggregate", "east", None

    def __init__(self) -> None:
        self.written: list[ByHand] = []

    def write(self, records) -> None:
        self.written += records


def applied(monkeypatch, before: OrderLog, *heard: OrderLog) -> Applied:
    """Gives the order, while these states of the order log are read before the time is over."""

    class PretendOrderFollower:
        def __init__(self, name, cluster, hear) -> None:
            self._hear = hear

        def start(self) -> None:
            for book in heard:
                self._hear(book)

        def stop(self) -> None:
            pass

    monkeypatch.setattr(by_hand, "OrderFollower", PretendOrderFollower)
    client = PretendDesk()
    found = by_hand.ordered(client, ORDER, before, timeout_seconds=0.01)  # type: ignore[arg-type]
    assert client.written == [ORDER]
    return found


@pytest.mark.parametrize("has_read", [False, True])
def test_an_older_order_that_ours_replaced_is_never_called_a_later_one(monkeypatch, has_read):
    before = book_of(placed(3), OLDER)
    heard = [before.after([(key_of(ORDER), ORDER)])] if has_read else []
    found = applied(monkeypatch, before, *heard)
    assert (found.answer, found.other) == (None, None)
    assert "no balancer acts" in as_text(found, "")


def test_before_the_topic_is_read_what_was_known_holds(monkeypatch):
    found = applied(monkeypatch, book_of(placed(3), lease()))
    assert (found.after, found.lease) == (placed(3), lease())


def test_a_later_order_that_was_read_is_named(monkeypatch):
    before = book_of(placed(3))
    found = applied(monkeypatch, before, before.after([(key_of(LATER), LATER)]))
    assert found.other == LATER
