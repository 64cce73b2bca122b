"""Restoring: records from objects of a feed back into a topic."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from aggregator.restore.restore import Restore
from aggregator.restore.restore_job import RestoreRequest, RestoreState
from aggregator.restore.restore_plan import CannotRestore
from aggregator.restore.restore_range import BadRange, RestoreRange, parsed_offsets
from aggregator.restore.restored_runs import GroupPosition
from replicator.audit.window import AGO, instant
from replicator.config.cluster_name import ClusterName
from replicator.config.object_feed import ObjectFeed
from replicator.config.topology import Appliance
from replicator.kafka.client.brokers import Unreachable

Result = TypeVar("Result")
Show = Callable[[int, int], None]
"""Called with the records that are restored, and how many there are."""


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
    found = []
    for text in texts:
        partition, _, offset = text.partition(":")
        if not (partition.isdecimal() and offset.isdecimal()):
            raise BadRange(f"{text!r} is no offset; 3:42 is offset 42 of partition 3")
        found.append((int(partition), int(offset)))
    return found


async def restore(
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
    if text is None:
        return None
    if AGO.fullmatch(text):
        raise BadRange(f"{text!r}: name an instant such as 2026-11-22T03:00:00Z")
    return instant(text, 0)
