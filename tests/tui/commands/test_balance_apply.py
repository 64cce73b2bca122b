"""Result of a manual order, by what is read of the order log until the time is over."""

import pytest

from balancer.decision.placement import Scope
from replicator.orders.order_log import OrderLog
from replicator.orders.order_records import Answer, ByHand, key_of
from tests.tui.balance_records import FIELDS, ROUTE, lease, log_of, placed
from tests.tui.recording_client import RecordingClient, orders_of
from tui.commands.balance_apply import order_placement, place_stream
from tui.facts.manual_placement_result import ManualPlacement, Result
from tui.facts.streams import UnknownStream

ORDER = ByHand(**FIELDS, id="ours", scope=Scope.STICKY, generation=3)
OLDER = ORDER.model_copy(update={"id": "older", "who": "eve@ops", "at_ms": FIELDS["at_ms"] - 1})
ANSWER = Answer(**FIELDS, id="ours", stream="default", generation=4, moves=0)
LATER = ORDER.model_copy(update={"id": "later", "who": "eve@ops", "at_ms": FIELDS["at_ms"] + 1})


def ordered(before: OrderLog, *read: OrderLog, progress=lambda *_: None) -> ManualPlacement:
    """Gives the order, while these states of the order log are read before the time is over."""

    class PlayedFollower:
        """Follower that reads the given states as soon as it is started."""

        def __init__(self, name, cluster, hear) -> None:
            self.hear = hear

        def start(self) -> None:
            for order_log in read:
                self.hear(order_log)

        def stop(self) -> None:
            pass

    client = RecordingClient()
    found = order_placement(client, ORDER, before, 0.01, progress, PlayedFollower)
    assert client.written == [ORDER]
    return found


@pytest.mark.parametrize("has_read", [False, True])
def test_an_older_order_that_ours_replaced_is_never_called_a_later_one(has_read):
    before = log_of(placed(3), OLDER)
    read = [before.after([(key_of(ORDER), ORDER)])] if has_read else []
    found = ordered(before, *read)
    assert (found.answer, found.replaced_by) == (None, None)
    assert (found.result, found.lease) == (Result.UNKNOWN, None)


def test_before_the_topic_is_read_the_order_log_from_before_the_order_counts():
    found = ordered(log_of(placed(3), lease()))
    assert (found.after, found.lease) == (placed(3), lease())


@pytest.mark.parametrize(
    ("read", "steps"), [((), [1]), ((log_of(placed(3), ANSWER),), [1, 0])], ids=["no", "answered"]
)
def test_each_step_is_told_while_it_is_taken(read, steps):
    told: list[int] = []
    ordered(log_of(placed(3)), *read, progress=lambda left, _: told.append(left))
    assert told == steps


def test_a_later_order_that_was_read_is_named():
    before = log_of(placed(3))
    found = ordered(before, before.after([(key_of(LATER), LATER)]))
    assert found.replaced_by == LATER


def place(client: RecordingClient, warnings: list[str], stream: str = "default"):
    return place_stream(
        orders_of(client, warnings),
        ROUTE,
        stream,
        scope=Scope.STICKY,
        generation=2,
        timeout_seconds=0.01,
        progress=lambda *_: None,
    )


def test_an_order_upon_another_generation_than_the_current_one_is_not_written():
    warnings: list[str] = []
    client = RecordingClient(placed(3), lease())
    found = place(client, warnings)
    assert (found.result, found.is_written, found.newest_generation) == (Result.STALE, False, 3)
    assert (client.writes, warnings) == (0, [])


def test_without_a_balancer_a_warning_names_the_command_that_starts_one():
    warnings: list[str] = []
    place(RecordingClient(placed(3)), warnings)
    assert warnings == ["no balancer acts: start `sluice balance --region east`"]


def test_an_unknown_stream_is_refused():
    with pytest.raises(UnknownStream):
        place(RecordingClient(placed(3)), [], stream="gold")
