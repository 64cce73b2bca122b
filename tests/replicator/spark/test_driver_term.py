"""Term of a driver: it finds out that a newer one leads, and which commands are older."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from replicator.config.names import PLAN_TOPIC
from replicator.spark.driver_command import DriverCommand, Term, TermSuperseded, read_command
from replicator.spark.driver_term import DriverTerm, TermPauses
from replicator.spark.reassignment_delta import ReassignmentDelta
from tests.replicator.kafka.client.coordinator import Coordinator

# -- A driver finds out that a newer one leads, and renews its command while none does.

ID = "sluice.east.driver"
OURS, OLDER, NEWER, OTHER = Term(7, 3), Term(7, 2), Term(7, 4), Term(8, 0)


class Target(Coordinator):
    """Coordinator that gives every driver the term (7, 3)."""

    async def ask_coordinator(self, kind: int, key: str, request: Any, *_: Any, **more: Any) -> Any:
        await super().ask_coordinator(kind, key, request, *_, **more)
        return SimpleNamespace(error_code=0, producer_id=7, producer_epoch=3)


def target(last: Term | None = None) -> Target:
    """Returns a target that shows a command of a term."""
    command = last and f'{{"pid":{last.producer_id},"epoch":{last.epoch},"stop":false}}'
    return Target({ID: [(PLAN_TOPIC, 0, 5, command)] if command else []}, [])


SHORT = TermPauses(check_seconds=0.001, successor_check_seconds=0.001, successor_seconds=0.02)


async def opened(cluster: Target, pauses: TermPauses = SHORT) -> DriverTerm:
    driver = DriverTerm(cluster, ID, pauses=pauses)
    assert await driver.open() == driver.term == OURS
    return driver


@pytest.mark.parametrize("newer", [NEWER, OTHER])
async def test_a_driver_stops_at_the_command_of_another_term(newer):
    driver = await opened(target(newer))
    with pytest.raises(TermSuperseded, match=r"this one had Term\(producer_id=7, epoch=3\)"):
        await driver.keep_checking()


@pytest.mark.parametrize(
    ("last", "expected"),
    [(None, False), (OLDER, False), (OURS, False), (NEWER, True), (OTHER, True)],
)
async def test_only_a_command_of_a_later_or_unrelated_term_is_a_successors(last, expected):
    assert await (await opened(target(last))).has_successor() is expected


async def test_the_last_command_is_renewed_as_it_was():
    cluster = target()
    driver = await opened(cluster, replace(SHORT, publish_again_seconds=0.0))
    await driver.publish(6, stop=True)
    published = await read_command(cluster, ID)
    cluster.shown.clear()
    checking = asyncio.create_task(driver.keep_checking())
    async with asyncio.timeout(5):
        while (renewed := await read_command(cluster, ID)) is None:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    checking.cancel()
    await asyncio.gather(checking, return_exceptions=True)
    assert renewed == published
    assert published is not None
    assert (published.term, published.plan_version, published.stop) == (OURS, 6, True)


# -- Driver commands: which are older than a plan, whatever became of the driver before.

OUR_TERM, VERSION = Term(7, 3), 18


@pytest.mark.parametrize(
    ("term", "version", "is_before"),
    [
        (OUR_TERM, 17, False),
        (OUR_TERM, 18, False),
        (Term(7, 2), 17, True),
        (Term(7, 2), 30, True),
        (Term(7, 4), 19, False),
        # The coordinator had forgotten the id: each driver has another producer id.
        (Term(5, 0), 17, True),
        (Term(9, 0), 18, False),
        (Term(9, 0), 19, False),
    ],
)
def test_a_command_of_an_older_plan_of_another_driver_is_older(term, version, is_before):
    command = DriverCommand(term, version, False, ReassignmentDelta(version))
    assert command.is_before(OUR_TERM, VERSION) == is_before
