"""sluice restore: records from objects of a feed back into a topic."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import FeedContext, on_feed
from tui.commands.options import output_option, timeout_option, usage_errors
from tui.commands.output import emit, plain_values, say
from tui.commands.progress import JSON_SECONDS, progress_option, wait_display
from tui.commands.text import table
from tui.pages.figures import mebibytes

if TYPE_CHECKING:
    from aggregator.restore.restore import Restore
    from aggregator.restore.restore_job import RestoreRequest, RestoreState
    from aggregator.restore.restore_range import RestoreRange
    from aggregator.restore.restored_runs import GroupPosition
    from replicator.config.object_feed import ObjectFeed
    from replicator.config.topology import Appliance

HEADS = ("PARTITION", "OBJECTS", "RECORDS", "MIB", "BEGIN", "END", "RESTORED", "UP TO", "STATE")
GROUP_HEADS = ("PARTITION", "OFFSET", "GOES ON AT")
Result = TypeVar("Result")
Show = Callable[[int, int], None]
"""Called with the records that are restored, and how many there are."""


@click.command()
@on_feed
@click.option("--topic", required=True, metavar="TOPIC", help="Topic whose objects are restored.")
@click.option(
    "--cluster",
    metavar="CLUSTER",
    help='Its cluster, such as "west aggregate", if the feed has two.',
)
@click.option("--into", metavar="CLUSTER", help="Cluster of the target topic. Default: the same.")
@click.option("--as", "target_topic", metavar="TOPIC", help="Target topic. Default: the same name.")
@click.option(
    "--offsets",
    multiple=True,
    metavar="PARTITION:BEGIN-END",
    help="Only these offsets, END excluded, such as 3:100-200, 3:100- or 3:-; with it only the "
    "named partitions. Repeatable.",
)
@click.option("--since", metavar="INSTANT", help="Only records of this time or later.")
@click.option(
    "--until", metavar="INSTANT", help="Only records before this time: 2026-11-22T03:00:00Z."
)
@click.option(
    "--incarnation",
    type=click.IntRange(min=0),
    metavar="NUMBER",
    help="Only objects of this log, if the topic was created again: 0 is the first one, others "
    "stand in the names of their objects.",
)
@click.option(
    "--create",
    is_flag=True,
    help="Create the target topic if it is not there, with the partitions of the source and "
    "without retention.",
)
@click.option("--replication-factor", type=click.IntRange(min=1), help="Needed with --create.")
@click.option(
    "--from-listing",
    "is_listed",
    is_flag=True,
    help="Find the objects by a listing of the bucket, and leave the source cluster alone: for one "
    "that is lost. Stop the feed first.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be restored; change nothing.")
@click.option(
    "--group",
    metavar="GROUP",
    help="Show where this consumer group of the source topic goes on in the restored one.",
)
@click.option(
    "--offset",
    "group_offsets",
    multiple=True,
    metavar="PARTITION:OFFSET",
    help="Show where a group with this committed offset goes on. Repeatable.",
)
@timeout_option(30.0, "Seconds to wait for each cluster.")
@progress_option
@output_option
def restore(
    context: FeedContext,
    into: str | None,
    target_topic: str | None,
    offsets: tuple[str, ...],
    since: str | None,
    until: str | None,
    incarnation: int | None,
    create: bool,
    replication_factor: int | None,
    is_listed: bool,
    dry_run: bool,
    group: str | None,
    group_offsets: tuple[str, ...],
    progress: str | None,
) -> int:
    """Write the records of a feed's objects back into a topic, each exactly once.

    Partition, order, key, value, headers and timestamp are those of the source. The target topic
    has to be empty, or to hold this restore: run again after whatever ended it, the command goes on
    where it was. Only Parquet with key, value and headers as bytes can be restored. Exits with 4 if
    a check refuses, with 8 if a newer restore into the topic has begun.
    """
    from aggregator.restore.restore_range import BadRange
    from replicator.audit.window import BadWindow

    if create and replication_factor is None:
        raise click.UsageError("--create needs --replication-factor")
    if is_listed and group is not None:
        raise click.UsageError("--from-listing does not ask for a --group: name its --offset")
    if context.topic is None:
        raise click.UsageError("--topic is missing")
    with usage_errors(BadRange, BadWindow):
        wanted = restore_range(offsets, since, until)
        request = restore_request(
            context.appliance,
            context.object_feed,
            context.cluster,
            context.topic,
            into,
            target_topic,
            wanted,
            is_listed=is_listed,
            incarnation=incarnation,
        )
        options = RestoreOptions(
            replication_factor=replication_factor if create else None,
            group=group,
            offsets=group_offsets_of(group_offsets),
            is_dry_run=dry_run,
            timeout_seconds=context.timeout_seconds,
        )
    display = wait_display(progress, json_seconds=JSON_SECONDS)

    def show(done: int, whole: int) -> None:
        display.show("restore", whole - done, f"{done} of {whole} records", time.monotonic())

    try:
        result = asyncio.run(restore_job(context.appliance, request, options, show, say))
    finally:
        display.end()
    emit(context.output, restore_values(result), lambda: restore_text(result))
    return ExitCode.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreOptions:
    """Wishes beside the job itself.

    Args:
        replication_factor: of a target topic that is created; None: it has to be there.
        group: whose positions are translated; None: of none.
        offsets: partitions and offsets of the source topic that are translated too.
        is_dry_run: True changes nothing.
        timeout_seconds: for reading each cluster's topics.
    """

    replication_factor: int | None
    group: str | None
    offsets: Sequence[tuple[int, int]]
    is_dry_run: bool
    timeout_seconds: float


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """Restore as it stands, and where consumer groups of the source topic go on.

    Args:
        positions: of a group, or of the offsets that were asked for.
    """

    request: RestoreRequest
    state: RestoreState
    positions: tuple[GroupPosition, ...]


def restore_range(offsets: tuple[str, ...], since: str | None, until: str | None) -> RestoreRange:
    """Returns the range of a command line. Raises BadRange or BadWindow."""
    from aggregator.restore.restore_range import BadRange, RestoreRange, parsed_offsets

    found = RestoreRange(
        offsets=parsed_offsets(offsets), since_ms=_moment(since), until_ms=_moment(until)
    )
    if None not in (found.since_ms, found.until_ms) and found.since_ms >= found.until_ms:  # type: ignore[operator]
        raise BadRange("the time is empty: --until is before --since")
    return found


def restore_request(
    appliance: Appliance,
    feed: ObjectFeed,
    source: str | None,
    topic: str,
    target: str | None,
    target_topic: str | None,
    wanted: RestoreRange,
    *,
    is_listed: bool = False,
    incarnation: int | None = None,
) -> RestoreRequest:
    """Returns the job of a command line.

    Raises BadRange for a cluster or topic that is none of the configuration.
    """
    from aggregator.restore.restore_job import RestoreRequest
    from aggregator.restore.restore_range import BadRange
    from replicator.config.cluster_name import ClusterName

    if source is None and len(feed.clusters) > 1:
        raise BadRange(f"feed {feed.name} reads {', '.join(feed.clusters)}: name a --cluster")
    if source not in (None, *feed.clusters):
        raise BadRange(f"feed {feed.name} reads {', '.join(feed.clusters)}, not {source}")
    known = appliance.cluster_names
    if target not in (None, *known):
        raise BadRange(f"there is no cluster {target}; known: {', '.join(known)}")
    source_name = ClusterName(source or feed.clusters[0])
    return RestoreRequest(
        feed=feed,
        source=source_name,
        topic=topic,
        target=ClusterName(target or source_name),
        target_topic=target_topic or topic,
        wanted=wanted,
        is_listed=is_listed,
        incarnation=incarnation,
    )


def group_offsets_of(texts: Sequence[str]) -> list[tuple[int, int]]:
    """Returns partition and offset of texts such as 3:42. Raises BadRange."""
    from aggregator.restore.restore_range import BadRange

    found = []
    for text in texts:
        partition, _, offset = text.partition(":")
        if not (partition.isdecimal() and offset.isdecimal()):
            raise BadRange(f"{text!r} is no offset; 3:42 is offset 42 of partition 3")
        found.append((int(partition), int(offset)))
    return found


async def restore_job(
    appliance: Appliance,
    request: RestoreRequest,
    options: RestoreOptions,
    show: Show,
    warn: Callable[[str], None],
) -> RestoreResult:
    """Restores what is left of the job, or only looks at it.

    Args:
        warn: called with what the operator should know.

    Raises:
        CannotRestore: a check refuses the job, or an object cannot be used.
        Unreachable, AdminError, LogUnreadable, StoreProblem: a server gives no answer.
        Fenced: another restore into the topic has begun.
        ProducerStateLost: run it again.
    """
    from aggregator.restore.restore import Restore

    if request.target in request.feed.clusters and request.feed.takes(request.target_topic):
        warn(
            f"feed {request.feed.name} takes {request.target_topic} too: what is restored will be "
            "written into objects again, unless `deny` names the topic"
        )
    job = Restore(appliance, request, options.timeout_seconds)
    watching = asyncio.create_task(job.watch(warn))
    try:
        if request.is_listed:
            warn(
                "restoring what the bucket lists: whether an object is missing cannot be checked, "
                "and the feed must not write meanwhile"
            )
            await job.prepare()
        state = await _in_time(job, options.timeout_seconds, _looked(job))
        if not options.is_dry_run and not state.is_done:
            if not state.is_there and options.replication_factor is not None:
                await job.create(state.partitions, options.replication_factor)
            state = await job.run(state, _shown(state, show))
        positions = _positions(job, request, state, options)
        return RestoreResult(
            request, state, await _in_time(job, options.timeout_seconds, positions)
        )
    finally:
        watching.cancel()
        await job.close()


async def _looked(job: Restore) -> RestoreState:
    await job.open()
    return await job.look()


async def _positions(
    job: Restore, request: RestoreRequest, state: RestoreState, options: RestoreOptions
) -> tuple[GroupPosition, ...]:
    from aggregator.restore.restore_plan import CannotRestore

    offsets = list(options.offsets)
    if options.group is not None:
        offsets += await job.group_offsets(options.group, state.partitions)
        if not offsets:
            raise CannotRestore(
                f"group {options.group} has no committed offsets of {request.topic} in "
                f"{request.source}; name them by --offset"
            )
    return await job.positions(state, offsets)


async def _in_time(job: Restore, seconds: float, asked: Awaitable[Result]) -> Result:
    """Returns the answer of the clusters. Raises Unreachable when the time is over."""
    from replicator.kafka.client.brokers import Unreachable

    try:
        async with asyncio.timeout(seconds):
            return await asked
    except TimeoutError:
        raise Unreachable(f"given up after {seconds:g} s: {job.trouble}") from None


def _shown(state: RestoreState, show: Show) -> Callable[[int], None]:
    """Returns what to do with the records of each transaction: `show` gets their sum."""
    whole = sum(plan.records for plan in state.plans)
    done = sum(entry.records for entry in state.entries.values())

    def add(records: int) -> None:
        nonlocal done
        done += records
        show(done, max(done, whole))

    add(0)
    return add


def _moment(text: str | None) -> int | None:
    """Returns milliseconds since 1970: another run of the job has to mean the same ones."""
    from aggregator.restore.restore_range import BadRange
    from replicator.audit.window import AGO, instant

    if text is None:
        return None
    if AGO.fullmatch(text):
        raise BadRange(f"{text!r}: name an instant such as 2026-11-22T03:00:00Z")
    return instant(text, 0)


def restore_values(result: RestoreResult) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    request, state = result.request, result.state
    return {
        "feed": request.feed.name,
        "source": {"cluster": str(request.source), "topic": request.topic},
        "target": {
            "cluster": str(request.target),
            "topic": request.target_topic,
            "exists": state.is_there,
        },
        "partitions_of_topic": state.partitions,
        "partitions": [
            {
                "partition": plan.partition,
                "objects": len(plan.objects),
                "records_of_objects": plan.records,
                "bytes_of_objects": plan.size_bytes,
                "begin": plan.begin,
                "end": plan.end,
                "restored_records": state.entries[plan.partition].records,
                "restored_up_to": state.entries[plan.partition].position,
                "is_done": state.entries[plan.partition].is_done,
            }
            for plan in state.plans
        ],
        "doubts": [
            {"partition": plan.partition, **plan.doubt._asdict()}
            for plan in state.plans
            if plan.doubt
        ],
        "forgotten": [
            {"partition": plan.partition, **each._asdict()}
            for plan in state.plans
            for each in plan.forgotten
        ],
        "positions": plain_values(result.positions),
    }


def restore_text(result: RestoreResult) -> str:
    """Formats tables for people."""
    request, state = result.request, result.state
    there = "" if state.is_there else ", which is not there yet"
    head = (
        f"{request.source} {request.topic} -> {request.target} {request.target_topic}"
        f" ({state.partitions} partitions){there}"
    )
    rows = []
    for plan in state.plans:
        entry = state.entries[plan.partition]
        rows.append(
            (
                plan.partition,
                len(plan.objects),
                plan.records,
                mebibytes(plan.size_bytes),
                plan.begin,
                plan.end,
                entry.records,
                entry.position,
                "done" if entry.is_done else "open",
            )
        )
    parts = [head, table(HEADS, rows)]
    if doubts := [f"partition {it.partition}: {it.doubt}" for it in state.plans if it.doubt]:
        why = (
            "Only the bucket was asked"
            if request.is_listed
            else f"The committed offsets of {request.feed.name} are gone"
        )
        parts.append("\n".join([f"{why}: records may be missing.", *doubts]))
    forgotten = [
        f"partition {plan.partition}: {each}" for plan in state.plans for each in plan.forgotten
    ]
    if forgotten:
        why = "Objects were forgotten, as the bucket had dropped them: their records are missing."
        parts.append("\n".join([why, *forgotten]))
    if result.positions:
        positions = [
            (
                each.partition,
                each.source_offset,
                "not restored yet" if each.target_offset is None else each.target_offset,
            )
            for each in result.positions
        ]
        parts.append(table(GROUP_HEADS, positions))
    return "\n\n".join(parts)
