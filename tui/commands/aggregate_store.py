"""sluice aggregate sweep, overwrite, forget: what a feed into objects leaves behind in its store,
what is in its way there, and what is not there any more."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import FeedContext, on_partitions
from tui.commands.options import checked_duration, output_option, timeout_option
from tui.commands.output import emit
from tui.commands.text import instant, joined, table
from tui.facts.counted import counted
from tui.pages.figures import mebibytes

if TYPE_CHECKING:
    from aggregator.s3.upload_sweep import JudgedUpload
    from replicator.config.object_feed import ObjectFeed
    from replicator.config.topology import Appliance
    from tui.facts.feed_objects import DroppedObjects, Forgetting, Overwrites, Sweep, TakenObject
    from tui.facts.feed_scope import Scope

CONTENT_HEADS = ("KEY", "CONTENT", "BYTES", "CHECKSUM", "ETAG", "WRITTEN")
UPLOAD_HEADS = ("KEY", "BEGUN", "FATE")
DROPPED_HEADS = (
    "CLUSTER", "TOPIC", "PARTITION", "LOG", "OBJECTS", "RECORDS", "MIB", "BEGIN", "END", "TOLD",
    "UP TO",
)  # fmt: skip


@click.command("overwrite")
@on_partitions
@click.option(
    "--confirm", is_flag=True, help="Overwrite what is shown. Without it nothing is changed."
)
@timeout_option(30.0, "Seconds to wait for each cluster.")
@output_option
def overwrite(context: FeedContext, confirm: bool) -> int:
    """Let parked partitions write over other contents of their objects' names.

    A partition is parked once the name of its next object is taken by another content. Without
    --confirm both contents of each name are shown, and the command exits with 4 if there are any.
    With --confirm a running `sluice aggregate` writes the sealed object over the content that is
    there now, and over no other; `sluice verify` reports an accepted loss. Exits with 5 when some
    partitions are left as they were, and with 3 when a cluster or the store does not answer.
    """
    from tui.orders.object_overwriting import overwrite_objects

    found = overwrite_objects(
        context.appliance,
        context.object_feed,
        context.scope,
        is_confirmed=confirm,
        timeout_seconds=context.timeout_seconds,
    )
    emit(context.output, overwrites_values(found), lambda: overwrites_text(found))
    if found.taken:
        return ExitCode.REFUSED
    return ExitCode.PARTLY_DONE if found.left else ExitCode.DONE


def overwrites_values(found: Overwrites) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "taken": [_taken_values(each) for each in found.taken],
        "continued": [_taken_values(each) for each in found.continued],
        "left": [
            {**partition._asdict(), "reason": reason} for partition, reason in found.left.items()
        ],
    }


def _taken_values(each: TakenObject) -> dict[str, Any]:
    there, sealed = each.there, each.manifest
    return {
        **each.partition._asdict(),
        "key": each.key,
        "there": there
        and {
            "size_bytes": there.size_bytes,
            "crc32c": there.crc32c,
            "etag": there.etag,
            "written_at": instant(int(there.modified_at * 1000)),
        },
        "sealed": {
            "begin": sealed.begin,
            "end": sealed.end,
            "records": sealed.records,
            "size_bytes": sealed.size_bytes,
            "crc32c": sealed.crc32c,
            "sealed_at": instant(sealed.sealed_at_ms),
        },
    }


def overwrites_text(found: Overwrites) -> str:
    """Formats both contents of each name, one below the other."""
    lines = [f"is written over: {each.key}" for each in found.continued]
    lines += [
        f"left as it is: {' '.join(map(str, partition))}: {reason}"
        for partition, reason in found.left.items()
    ]
    if not found.taken:
        return joined(lines) if lines else "no name of an object is taken by another content"
    rows = [row for each in found.taken for row in _content_rows(each)]
    return "\n\n".join(filter(None, [table(CONTENT_HEADS, rows), joined(lines)]))


def _content_rows(each: TakenObject) -> list[tuple[Any, ...]]:
    there, sealed = each.there, each.manifest
    rows: list[tuple[Any, ...]] = [(each.key, "there: none", *(["-"] * 4))]
    if there is not None:
        checksum = "-" if there.crc32c is None else f"{there.crc32c:08x}"
        written = instant(int(there.modified_at * 1000))
        rows = [(each.key, "there", there.size_bytes, checksum, there.etag, written)]
    what = f"sealed: offsets [{sealed.begin}, {sealed.end})"
    sealed_at = instant(sealed.sealed_at_ms)
    return [*rows, ("", what, sealed.size_bytes, f"{sealed.crc32c:08x}", "-", sealed_at)]


@click.command("sweep")
@on_partitions
@click.option(
    "--older-than",
    metavar="DURATION",
    callback=checked_duration,
    default="2d",
    show_default=True,
    help="Leave uploads that were begun since: 30m, 12h, 2d.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be aborted, and abort nothing.")
@timeout_option(30.0, "Seconds to wait for each cluster.")
@output_option
def sweep(context: FeedContext, older_than: str, dry_run: bool) -> int:
    """Abort uploads that crashes of loaders have left behind in the store.

    Aborted is what was begun below the feed's prefix, under a name as the feed gives them, so long
    ago, and what no intent names. An object stays open for `object_age_seconds`, and for an epoch
    at most; a loader whose upload is aborted nevertheless uploads the same records again. Exits
    with 4 if the feed has not claimed the prefix, and with 3 when a cluster or the store does not
    answer; run it again then.
    """
    from tui.orders.durations import milliseconds
    from tui.orders.upload_sweeping import sweep_uploads

    age_ms = milliseconds(older_than)
    found = sweep_uploads(
        context.appliance,
        context.object_feed,
        context.scope,
        begun_before=time.time() - age_ms / 1000,
        is_dry=dry_run,
        timeout_seconds=context.timeout_seconds,
    )
    emit(context.output, sweep_values(found), lambda: sweep_text(found))
    return ExitCode.DONE


def sweep_values(sweep: Sweep) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "dry_run": sweep.is_dry,
        "uploads": [
            {
                "key": each.upload.key,
                "upload_id": each.upload.upload_id,
                "begun_at": _begun(each),
                "fate": _fate(each, sweep),
                "reason": each.fate.value,
            }
            for each in sweep.uploads
        ],
    }


def sweep_text(sweep: Sweep) -> str:
    """Formats a table for people. Uploads of others are only counted."""
    from aggregator.s3.upload_sweep import Fate

    own = [each for each in sweep.uploads if each.fate is not Fate.FOREIGN]
    parts = []
    if own:
        rows = [
            (each.upload.key, _begun(each), f"{_fate(each, sweep)}: {each.fate.value}")
            for each in own
        ]
        parts.append(table(UPLOAD_HEADS, rows))
    else:
        parts.append("no upload of the feed is open")
    if foreign := len(sweep.uploads) - len(own):
        parts.append(f"left: {counted(foreign, 'upload')} {Fate.FOREIGN.value}")
    return "\n\n".join(parts)


def _begun(each: JudgedUpload) -> str | None:
    return instant(int(each.upload.begun_at * 1000))


def _fate(each: JudgedUpload, sweep: Sweep) -> str:
    from aggregator.s3.upload_sweep import Fate

    if each.fate is not Fate.STALE:
        return "left"
    return "would be aborted" if sweep.is_dry else "aborted"


@click.command("forget")
@on_partitions
@click.option(
    "--older-than",
    metavar="DURATION",
    callback=checked_duration,
    required=True,
    help="Forget objects that were written longer ago, as the bucket keeps them: 30d.",
)
@click.option(
    "--confirm", is_flag=True, help="Forget what is shown. Without it nothing is changed."
)
@timeout_option(30.0, "Seconds to wait for each answer of a cluster.")
@output_option
def forget(context: FeedContext, older_than: str, confirm: bool) -> int:
    """Remove manifests of objects that the bucket does not have any more.

    The topic sluice.objects.<feed> has a manifest of each object, for ever. Where a lifecycle rule
    or a person has deleted objects, those below the feed's committed offset can be forgotten; which
    offsets they had stays known. Without --confirm they are shown, and the command exits with 4 if
    there are any. Exits with 4 also if the feed has not claimed the prefix, and with 3 when a
    cluster or the store does not answer; run it again then.
    """
    from tui.orders.durations import milliseconds

    age_ms = milliseconds(older_than)
    found = forget_objects(
        context.appliance,
        context.object_feed,
        context.scope,
        told_before_ms=time.time_ns() // 1_000_000 - age_ms,
        is_confirmed=confirm,
        timeout_seconds=context.timeout_seconds,
    )
    emit(context.output, forgetting_values(found), lambda: forgetting_text(found))
    return ExitCode.REFUSED if found.dropped and not found.is_done else ExitCode.DONE


def forget_objects(
    appliance: Appliance,
    feed: ObjectFeed,
    scope: Scope,
    *,
    told_before_ms: int,
    is_confirmed: bool,
    timeout_seconds: float,
) -> Forgetting:
    """Shows the objects of the scope that the bucket does not have any more, or forgets them.
    Blocking.

    May be killed and repeated, and runs beside loaders.

    Args:
        told_before_ms: Unix time; objects that were told since are kept.
        timeout_seconds: for each answer of a cluster.

    Raises:
        OrderRefused: the feed does not have the scope, or has not claimed its prefix, or another
            run has begun.
        AdminError, LogUnreadable, Unreachable, Answered: a cluster gives no answer.
        StoreProblem: the store gives none.
    """
    from aggregator.loader.object_forgetting import ObjectForgetting
    from aggregator.loader.object_sink import address_of
    from aggregator.objects.prefix_claim import PrefixClaim, below
    from aggregator.s3.object_store import ObjectStore
    from replicator.kafka.admin.admin import Admin
    from replicator.kafka.client.brokers import Unreachable
    from replicator.kafka.client.cluster import Fenced
    from tui.facts.feed_objects import DroppedObjects, Forgetting
    from tui.orders.feed_orders import check_scope
    from tui.orders.order_checks import OrderRefused
    from tui.orders.upload_sweeping import raise_unless_claimed

    check_scope(feed, scope)
    store = ObjectStore(address_of(feed))
    found: list[DroppedObjects] = []
    for name in feed.clusters:
        if scope.cluster not in (None, name):
            continue
        settings, prefix = appliance.cluster(name), feed.prefix_of(name)
        admin = Admin(name, settings, timeout_seconds)
        # HEAD of any name is 404 in a bucket that is not there.
        raise_unless_claimed(store, prefix, PrefixClaim(feed.name, str(name), admin.cluster_id()))
        forgetting = ObjectForgetting(
            feed=feed.name,
            name=name,
            settings=settings,
            store=store,
            prefix=below(prefix, ""),
            topic=scope.topic,
            partition=scope.partition,
            told_before_ms=told_before_ms,
            timeout_seconds=timeout_seconds,
        )
        try:
            gone = asyncio.run(forgetting.run(is_confirmed=is_confirmed))
        except Fenced:
            raise OrderRefused("another `sluice aggregate forget` of the feed has begun") from None
        except TimeoutError:
            text = f"{name}: no answer within {timeout_seconds:g} s; run it again"
            raise Unreachable(text) from None
        found += [DroppedObjects.of(log, objects) for log, objects in gone.items()]
    return Forgetting(tuple(sorted(found, key=lambda each: each.log)), is_confirmed)


def forgetting_values(found: Forgetting) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "is_done": found.is_done,
        "forgotten": [
            {
                **each.log._asdict(),
                "objects": each.objects,
                "records": each.records,
                "size_bytes": each.size_bytes,
                "begin": each.begin,
                "end": each.end,
                "first_told_at": instant(each.first_told_ms),
                "last_told_at": instant(each.last_told_ms),
            }
            for each in found.dropped
        ],
    }


def forgetting_text(found: Forgetting) -> str:
    """Formats a table for people."""
    if not found.dropped:
        return "nothing to forget: the bucket has all objects of this age that the feed has passed"
    what = "forgotten" if found.is_done else "not in the bucket any more; --confirm forgets them"
    return "\n\n".join([table(DROPPED_HEADS, map(_dropped_row, found.dropped)), what])


def _dropped_row(each: DroppedObjects) -> tuple[Any, ...]:
    return (
        *each.log,
        each.objects,
        each.records,
        mebibytes(each.size_bytes),
        each.begin,
        each.end,
        instant(each.first_told_ms),
        instant(each.last_told_ms),
    )
