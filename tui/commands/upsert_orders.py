"""sluice upsert settle, rotate, accept-loss: orders to the keeper of an upsert table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import FeedContext, on_feed
from tui.commands.options import answer_options, reason_option
from tui.commands.output import emit
from tui.commands.text import joined, table

if TYPE_CHECKING:
    from aggregator.upsert.tick import Tick

LOSS_HEADS = ("SEGMENT", "CLUSTER", "TOPIC", "PART", "LOST", "REASON")
table_option = click.option("--table", required=True, metavar="TABLE", help="The upsert table.")


@click.command()
@on_feed
@table_option
@reason_option
@answer_options
def settle(context: FeedContext) -> int:
    """Bring the ends of rows into the rows now, on every server.

    The keeper does so by itself every settle_seconds. A running daemon follows within seconds;
    `sluice upsert status` shows the settle point. The order ends after ten minutes.
    """
    from replicator.orders.order_records import SettleTable
    from tui.orders.feed_orders import order_table

    assert context.table is not None
    why = context.reason or ""
    return context.show(order_table(context.orders, SettleTable, context.feed, context.table, why))


@click.command()
@on_feed
@table_option
@reason_option
@answer_options
def rotate(context: FeedContext) -> int:
    """Read the state of all keys from the store again, without those that have expired.

    The keeper does so by itself every half retention. No tick is claimed meanwhile; queries go on.
    The order ends after ten minutes.
    """
    from replicator.orders.order_records import RotateTable
    from tui.orders.feed_orders import order_table

    assert context.table is not None
    why = context.reason or ""
    return context.show(order_table(context.orders, RotateTable, context.feed, context.table, why))


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentLoss:
    """Loss for which an input partition takes nothing.

    Args:
        end: None where only the begin is known.
    """

    segment: int
    cluster: str
    topic: str
    partition: int
    begin: int
    end: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class SegmentLosses:
    """Losses of an upsert table that nobody has accepted."""

    losses: tuple[SegmentLoss, ...]
    schema_version: int = 1


@click.command("accept-loss")
@on_feed
@table_option
@click.option(
    "--segment",
    "segments",
    type=click.IntRange(min=0),
    multiple=True,
    help="Only this input partition. Repeatable.",
)
@click.option("--yes", is_flag=True, help="Accept the losses. Without --yes nothing is changed.")
@click.option(
    "--reason", help="Reason, needed with --yes. It is recorded, and shown to other operators."
)
@answer_options
def accept_loss(context: FeedContext, segments: Sequence[int], yes: bool) -> int:
    """Show the input partitions that are stopped as records are lost, or let them go on.

    Without --yes it shows them, and exits with 4 if there are any. With --yes the keeper lets them
    go on behind the losses that are shown, and behind no others: behind what retention deleted, or
    where a log was cut and is written anew. A topic that is gone has nothing more; its loss is not
    told again. The order ends after ten minutes.
    """
    from aggregator.upsert.tick import Tick
    from replicator.config.feed_settings import ClickHouseFeed
    from tui.facts.watch.upsert_questions import read_tick
    from tui.orders.feed_orders import accept_lane_losses, check_upsert_table

    assert context.table is not None
    if yes and not (context.reason or "").strip():
        raise click.UsageError("--yes needs --reason: why records are given up")
    feed = context.feed
    check_upsert_table(feed, context.table)
    assert isinstance(feed, ClickHouseFeed)
    upsert_table, home = feed.tables[context.table], feed.home_of(feed.tables[context.table])
    cluster = context.appliance.cluster(home)
    tick = read_tick(home, cluster, feed, upsert_table, context.timeout_seconds).tick
    shown = tick or Tick(0, 0, 0)
    stops = [
        stop
        for stop in (*shown.stops, *shown.gaps)
        if not stop.is_accepted and (not segments or stop.lane in segments)
    ]
    if yes and stops:
        why = context.reason or ""
        return context.show(accept_lane_losses(context.orders, feed, context.table, stops, why))
    losses = SegmentLosses(tuple(losses_of(shown, [stop.lane for stop in stops])))
    emit(context.output, losses, lambda: losses_text(losses))
    return ExitCode.REFUSED if stops else ExitCode.DONE


def losses_of(tick: Tick, lanes: Sequence[int]) -> Iterator[SegmentLoss]:
    """Yields the losses of some lanes of a tick."""
    for stop in (*tick.stops, *tick.gaps):
        if stop.lane in lanes and not stop.is_accepted:
            lane = tick.lanes[stop.lane]
            yield SegmentLoss(
                segment=stop.lane,
                cluster=lane.cluster,
                topic=lane.topic,
                partition=lane.partition,
                begin=stop.loss.begin,
                end=stop.loss.end,
                reason=str(stop.loss),
            )


def losses_text(found: SegmentLosses) -> str:
    """Returns losses for people."""
    rows = [
        [
            str(each.segment),
            each.cluster,
            each.topic,
            str(each.partition),
            f"[{each.begin}, {'?' if each.end is None else each.end})",
            each.reason,
        ]
        for each in found.losses
    ]
    if not rows:
        return "no input partition is stopped"
    hint = "--yes --reason TEXT lets them go on behind what is lost"
    return joined([*table(LOSS_HEADS, rows).splitlines(), hint])
