"""sluice balance partitions: each partition's load, and what it is derived from."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import click

from balancer.decision.placement import Scope
from tui.commands.command_context import CommandContext, on_routes
from tui.commands.exit_codes import ExitCode
from tui.commands.options import answer_options, stream_option
from tui.commands.output import emit, say
from tui.commands.text import decimals, table
from tui.facts.balancing import reasons
from tui.pages.balance_actions import stream_label
from tui.pages.figures import NONE

if TYPE_CHECKING:
    from replicator.config.topology import Appliance, Route
    from replicator.placement.rounds.partition_need import PartitionNeed
    from replicator.placement.rounds.preview import Preview

SCHEMA_VERSION = 1
SHOWN_MAX = 40
HEADS = ("TOPIC", "PARTITION", "CARRIER", "LOAD", "BYTES/S", "RECORDS/S", "LAG", "KNOWN BY")
BASIS_TEXTS = {
    "measured": "its log",
    "file": "throughput_file",
    "topic": "its topic's mean",
    "default": "nothing: a default",
}


@click.command()
@on_routes
@stream_option
@click.option("--topic", metavar="TOPIC", help="Only partitions of this topic.")
@click.option(
    "--all", "all_partitions", is_flag=True, help="List all partitions, however many there are."
)
@answer_options
def partitions(
    context: CommandContext, stream: str | None, topic: str | None, all_partitions: bool
) -> int:
    """Show the load of each partition, and the values that it is derived from.

    The heaviest partition comes first. Each row has the carrier, the load (part of a carrier's
    time), the traffic at the source, the lag, and the source of this knowledge. Exits with 4 when
    no driver publishes its plan.
    """
    previews = read_previews(
        context.appliance, context.region, context.routes, context.timeout_seconds, stream=stream
    )
    if topic is not None:
        check_topic_carried(previews, topic)
    needs = Needs(context.region, previews, topic)
    emit(
        context.output,
        needs_values(needs),
        lambda: needs_text(needs, all_partitions=all_partitions),
    )
    say(*needs.remarks())
    return ExitCode.DONE


class NotCarried(Exception):
    """No partition of the named topic is carried. The text lists similar names."""


def read_previews(
    appliance: Appliance,
    region: str,
    routes: Collection[Route],
    timeout_seconds: float,
    *,
    stream: str | None = None,
    scope: Scope = Scope.STICKY,
) -> tuple[Preview, ...]:
    """Returns the previews of these routes' streams, or of the named stream. Blocking.

    Args:
        timeout_seconds: for all servers together.

    Raises:
        UnknownStream: none of the routes has the stream.
        StoreUnreachable: the time is over; also whatever `previews` raises.
    """
    from replicator.config.cluster_name import ClusterName
    from replicator.kafka.admin.listening import check_listening
    from replicator.placement.rounds.connections import BalancerConnections
    from replicator.placement.rounds.preview import previews
    from replicator.runtime.store_errors import StoreUnreachable
    from tui.facts.watch.inquiry import GRACE_SECONDS

    async def within() -> list[Preview]:
        connections = BalancerConnections(appliance, region, timeout_seconds)
        async with asyncio.timeout(timeout_seconds + GRACE_SECONDS):
            return await previews(appliance, region, scope, connections)

    name = ClusterName.aggregate(region)
    check_listening(name, appliance.cluster(name))
    try:
        found = asyncio.run(within())
    except TimeoutError:
        servers = f"clusters and stores of the routes into {region}"
        raise StoreUnreachable(f"{servers}: no answer within {timeout_seconds:g} s") from None
    return selected_previews(found, routes, stream)


def selected_previews(
    found: Iterable[Preview], routes: Collection[Route], stream: str | None
) -> tuple[Preview, ...]:
    """Returns the previews of these routes, or of the named stream on them.

    Raises UnknownStream when none of these routes has the stream.
    """
    from tui.facts.streams import UnknownStream

    of_routes = [each for each in found if each.route in routes]
    selected = tuple(each for each in of_routes if stream in (None, each.stream))
    if not selected:
        known = ", ".join(dict.fromkeys(each.stream for each in of_routes))
        raise UnknownStream(f"no stream {stream!r}; known: {known}")
    return selected


def check_topic_carried(previews: Iterable[Preview], topic: str) -> None:
    """Raises NotCarried, with similar names, when no partition of the topic is carried."""
    known = {need.partition.topic for each in previews for need in each.needs}
    if topic not in known:
        close = get_close_matches(topic, sorted(known), n=3)
        hint = f"; is it {' or '.join(close)}?" if close else ""
        raise NotCarried(f"nothing of topic {topic!r} is carried there{hint}")


@dataclass(frozen=True, slots=True)
class Needs:
    """Loads of one region's partitions, for output.

    Args:
        topic: topic whose partitions are shown; None for all.
    """

    region: str
    previews: tuple[Preview, ...]
    topic: str | None = None

    def of(self, preview: Preview) -> list[PartitionNeed]:
        """Returns the partitions of a stream to show, heaviest first."""
        return [it for it in preview.needs if self.topic in (None, it.partition.topic)]

    def remarks(self) -> list[str]:
        """Returns a line for each stream whose loads are not known, with the reason.

        The balancer does not act upon the loads of such a stream.
        """
        return [
            f"{_label(each)}: {text}"
            for each in self.previews
            for text in reasons(None, each.outcome.status.degraded)
        ]


def needs_values(needs: Needs) -> dict[str, Any]:
    """Returns plain values for JSON and YAML; unknown values are null."""
    return {
        "schema_version": SCHEMA_VERSION,
        "region": needs.region,
        "streams": [
            {
                "route": preview.route.name,
                "stream": preview.stream,
                "generation": preview.carried_generation,
                "placed_generation": preview.generation,
                "degraded": preview.outcome.status.degraded,
                "partitions": [_values(it) for it in needs.of(preview)],
            }
            for preview in needs.previews
        ],
    }


def needs_text(needs: Needs, *, all_partitions: bool = False) -> str:
    """Formats the loads for people, stream by stream.

    At most the SHOWN_MAX heaviest partitions of a stream are listed, unless `all_partitions`.
    """
    shown_max = None if all_partitions else SHOWN_MAX
    return "\n\n".join(_text(each, needs.of(each), shown_max) for each in needs.previews)


def _values(need: PartitionNeed) -> dict[str, Any]:
    return {
        "topic": need.partition.topic,
        "partition": need.partition.partition,
        "carrier": need.carrier,
        "load": need.share,
        "basis": need.basis.value,
        "looked_at_lately": need.is_fresh,
        "expected_bytes_per_second": need.rate.bytes_per_second if need.rate else None,
        "expected_records_per_second": need.rate.records_per_second if need.rate else None,
        "lag_records": need.lag_records,
        "lag_seconds": need.lag_seconds,
    }


def _text(preview: Preview, needs: Sequence[PartitionNeed], shown_max: int | None) -> str:
    generation = f"generation {preview.carried_generation}"
    if preview.carried_generation < preview.generation:
        generation += f"; the driver is yet to follow {preview.generation}"
    lines = [f"{_label(preview)}: {len(needs)} partitions, {generation}"]
    if needs:
        lines += ["", table(HEADS, [_row(it) for it in needs[:shown_max]])]
    if shown_max is not None and len(needs) > shown_max:
        lines.append(f"{shown_max} of {len(needs)}, the heaviest; --all shows all of them")
    return "\n".join(lines)


def _row(need: PartitionNeed) -> tuple[Any, ...]:
    rate = need.rate
    return (
        need.partition.topic,
        need.partition.partition,
        NONE if need.carrier is None else need.carrier,
        decimals(need.share),
        rate and round(rate.bytes_per_second),
        rate and round(rate.records_per_second),
        need.lag_records,
        BASIS_TEXTS[need.basis.value] + ("" if _is_recent(need) else ", not lately"),
    )


def _label(preview: Preview) -> str:
    return stream_label(preview.route.name, preview.stream)


def _is_recent(need: PartitionNeed) -> bool:
    return need.is_fresh or need.basis.value != "measured"
