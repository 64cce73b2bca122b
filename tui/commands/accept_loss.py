"""sluice accept-loss: shows parked partitions, and lets them go on behind an accepted loss."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.options import (
    config_option,
    one_route_option,
    output_option,
    timeout_option,
    topics_option,
    usage_errors,
)
from tui.commands.output import emit
from tui.commands.text import table

if TYPE_CHECKING:
    from balancer.topic_partition import TopicPartition
    from replicator.config.topology import Appliance, Route
    from replicator.mirror.repair.accept_loss import Acceptance, Accepted, Parked


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


@dataclass(frozen=True, slots=True)
class LossReport:
    """Report on the parked partitions of a route.

    Args:
        parked: partitions that are parked and were not accepted, because nobody asked for it.
        accepted: partitions that go on behind an accepted loss.
        left: partitions that could not be acquired, with the reason; they are parked as before.
    """

    parked: tuple[Parked, ...] = ()
    accepted: tuple[Accepted, ...] = ()
    left: Mapping[TopicPartition, str] = field(default_factory=dict)


@click.command("accept-loss")
@config_option
@one_route_option
@topics_option
@click.option(
    "--partition", "numbers", type=int, multiple=True, help="Only this partition. Repeatable."
)
@click.option(
    "--restart-at",
    type=click.IntRange(min=0),
    metavar="SOURCE_OFFSET",
    help="Source offset to go on from. For partitions without a ledger entry, partitions whose "
    "source cannot be read from some offset on, and refused records that are to be sent again.",
)
@click.option("--yes", is_flag=True, help="Accept the losses. Without --yes nothing is changed.")
@timeout_option(
    30.0, "Seconds without progress after which the command gives up. Reading a log is progress."
)
@output_option
def accept_loss(
    config: str,
    route_name: str,
    topics: Sequence[str],
    numbers: Sequence[int],
    restart_at: int | None,
    yes: bool,
    timeout: float,
    output: str,
) -> int:
    """Show the partitions that are parked because records are lost, or let them go on.

    Without --yes it shows the parked partitions and the reasons, and exits with 4 if there are any.
    With --yes these partitions go on behind the loss; a running `sluice replicate` acquires them by
    itself. Exits with 3 when a cluster does not answer in time: the target or, with --yes, the
    source.
    """
    from replicator.config.topology import load
    from replicator.mirror.repair.accept_loss import Acceptance

    appliance = load(config)
    route = appliance.route(route_name)
    request = LossRequest(
        topics=frozenset(topics) or topics_of_target(appliance, route, timeout),
        partitions=frozenset(numbers),
        restart_at=restart_at,
        is_accepting=yes,
        timeout_seconds=timeout,
    )
    with usage_errors(BadAcceptance):
        report = asyncio.run(accept_losses(Acceptance(appliance, route), request))
    emit(output, losses_values(report), lambda: losses_text(report))
    if report.parked:
        return ExitCode.REFUSED
    return ExitCode.PARTLY_DONE if report.left else ExitCode.DONE


def topics_of_target(appliance: Appliance, route: Route, timeout_seconds: float) -> frozenset[str]:
    """Returns all topics of the route's target. Blocking. Raises AdminError."""
    from replicator.config.cluster_name import ClusterName
    from replicator.kafka.admin.admin import Admin

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
    from replicator.kafka.client.brokers import Unreachable

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


def losses_text(report: LossReport) -> str:
    """Formats a table for people: parked partitions, or accepted and left ones."""
    if report.parked:
        parked = [(*each.partition, each.reason) for each in report.parked]
        return table(("TOPIC", "PARTITION", "REASON"), parked)
    if not report.accepted and not report.left:
        return "nothing is parked"
    rows: list[tuple[Any, ...]] = [
        (*each.partition, each.source_offset, "; ".join(each.losses)) for each in report.accepted
    ]
    rows += [
        (*partition, None, f"left as it is: {reason}") for partition, reason in report.left.items()
    ]
    return table(("TOPIC", "PARTITION", "GOES ON AT", "ACCEPTED"), rows)


def losses_values(report: LossReport) -> list[dict[str, Any]]:
    """Returns plain values for JSON and YAML: parked partitions, or accepted and left ones."""
    values: list[dict[str, Any]] = [
        {**each.partition._asdict(), "reason": each.reason} for each in report.parked
    ]
    values += [
        {
            **each.partition._asdict(),
            "accepted": list(each.losses),
            "goes_on_at_source_offset": each.source_offset,
            "left_because": None,
        }
        for each in report.accepted
    ]
    values += [
        {
            **partition._asdict(),
            "accepted": [],
            "goes_on_at_source_offset": None,
            "left_because": reason,
        }
        for partition, reason in report.left.items()
    ]
    return values
