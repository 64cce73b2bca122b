"""Acceptance of losses: parked partitions of a route go on behind what was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass

from replicator.config.cluster_name import ClusterName
from replicator.config.topology import Appliance, Route
from replicator.kafka.admin.admin import Admin
from replicator.kafka.client.brokers import Unreachable
from replicator.mirror.repair.accept_loss import Acceptance
from tui.facts.loss_report import LossReport


class BadAcceptance(ValueError):
    """The topics are unknown, or the offset is not valid for a loss. Nothing was changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRequest:
    """Request to show parked partitions, or to accept their losses.

    Args:
        topics: empty for all topics of the target.
        partitions: numbers of partitions; empty for all.
        restart_at: source offset to go on from, where a loss does not say so itself.
        is_accepting: False when parked partitions are only shown.
        timeout_seconds: maximum time without progress; reading a log is progress.
    """

    topics: frozenset[str]
    partitions: frozenset[int]
    restart_at: int | None
    is_accepting: bool
    timeout_seconds: float


def topics_of_target(appliance: Appliance, route: Route, timeout_seconds: float) -> frozenset[str]:
    """Returns all topics of the route's target. Blocking. Raises AdminError."""
    target = Admin(ClusterName.aggregate(route.target), appliance.target_of(route), timeout_seconds)
    return frozenset(topic.name for topic in target.topics())


async def accept_losses(acceptance: Acceptance, request: LossRequest) -> LossReport:
    """Shows the parked partitions or lets them go on.

    Waits in periods of the timeout, and gives up after one in which no byte of a log was read.

    Raises:
        BadAcceptance: nothing was changed.
        Unreachable: a cluster did not answer in time; partitions may be accepted.
        Fenced, ProducerStateLost, Forbidden, Answered: from a cluster.
    """
    running = asyncio.create_task(_accept_losses(acceptance, request))
    bytes_read = -1
    try:
        while acceptance.bytes_read > bytes_read:
            bytes_read = acceptance.bytes_read
            await asyncio.wait([running], timeout=request.timeout_seconds)
            if running.done():
                return running.result()
    finally:
        trouble = acceptance.trouble
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    raise Unreachable(
        f"given up after {request.timeout_seconds:g} s: {trouble}; look again with `sluice "
        "accept-loss`: what was not accepted is parked as before"
    )


async def _accept_losses(acceptance: Acceptance, request: LossRequest) -> LossReport:
    try:
        await acceptance.open(request.topics)
        if unknown := await acceptance.unknown(request.topics):
            raise BadAcceptance(
                f"neither in the target nor ever mirrored on this route: {', '.join(unknown)}"
            )
        parked = [
            each
            for each in await acceptance.parked(request.topics)
            if _is_selected(each.partition.partition, request.partitions)
        ]
        if not parked or not request.is_accepting:
            return LossReport(parked=tuple(parked))
        try:
            accepted = await acceptance.accept(parked, request.restart_at)
        except ValueError as error:
            raise BadAcceptance(str(error)) from error
    finally:
        await acceptance.close()
    return LossReport(accepted=tuple(accepted), left=acceptance.left)


def _is_selected(number: int, numbers: Collection[int]) -> bool:
    return not numbers or number in numbers
