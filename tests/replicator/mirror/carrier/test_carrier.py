"""Carrier sessions follow each other: at once after one that lasted, else with growing pauses."""

import asyncio
import time

import pytest

from replicator.config.topology import Route
from replicator.kafka.client.cluster import ProducerStateLost
from replicator.mirror.carrier.carrier import SessionPauses, carry
from replicator.mirror.carrier.carrier_assignment import CarrierAssignment
from replicator.spark.driver_command import Term


@pytest.mark.parametrize(
    ("lasted", "pauses"),
    [(5.1, [0.05, 0.05, 0.05]), (4.9, [0.1, 0.2, 0.4])],
    ids=["long", "briefly"],
)
def test_only_a_session_that_has_lasted_is_followed_by_the_next_at_once(lasted, pauses):
    between = SessionPauses(uniform=lambda low, high: (low + high) / 2)
    assert [between.after(lasted) for _ in pauses] == pytest.approx(pauses)


def test_a_carrier_whose_producer_is_lost_begins_again_after_a_pause():
    began = []

    class Failing:
        async def run(self):
            began.append(time.monotonic())
            if len(began) < 3:
                raise ProducerStateLost("west>east")

    assignment = CarrierAssignment(
        Route("west", "east"), 0, (), Term(1, 0), 1, time.monotonic() + 60
    )
    asyncio.run(carry(None, assignment, lambda *_: Failing()))  # type: ignore[arg-type]
    first, second, third = began
    # Half of the doubled first pause, and half of the one after that.
    assert second - first >= 0.05
    assert third - second >= 0.1
