"""sluice aggregate sweep, overwrite, forget: what a feed into objects leaves behind in its store,
what is in its way there, and what is not there any more."""

from __future__ import annotations

import time

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import FeedContext, on_partitions
from tui.commands.options import output_option, timeout_option, usage_errors
from tui.commands.output import emit


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
    from tui.commands.views.overwrites_view import as_text, as_values
    from tui.orders.object_listing import NoObjects, object_feed
    from tui.orders.object_overwriting import overwrite_objects

    with usage_errors(NoObjects):
        feed = object_feed(context.appliance, context.feed_name)
    found = overwrite_objects(
        context.appliance,
        feed,
        context.scope,
        is_confirmed=confirm,
        timeout_seconds=context.timeout_seconds,
    )
    emit(context.output, as_values(found), lambda: as_text(found))
    if found.taken:
        return ExitCode.REFUSED
    return ExitCode.PARTLY_DONE if found.left else ExitCode.DONE


@click.command("sweep")
@on_partitions
@click.option(
    "--older-than",
    metavar="DURATION",
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
    from tui.commands.views.sweep_view import as_text, as_values
    from tui.orders.durations import BadDuration, milliseconds
    from tui.orders.object_listing import NoObjects, object_feed
    from tui.orders.upload_sweeping import sweep_uploads

    with usage_errors(NoObjects):
        feed = object_feed(context.appliance, context.feed_name)
    with usage_errors(BadDuration, prefix="--older-than: "):
        age_ms = milliseconds(older_than)
    found = sweep_uploads(
        context.appliance,
        feed,
        context.scope,
        begun_before=time.time() - age_ms / 1000,
        is_dry=dry_run,
        timeout_seconds=context.timeout_seconds,
    )
    emit(context.output, as_values(found), lambda: as_text(found))
    return ExitCode.DONE


@click.command("forget")
@on_partitions
@click.option(
    "--older-than",
    metavar="DURATION",
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
    from tui.commands.views.forgetting_view import as_text, as_values
    from tui.orders.durations import BadDuration, milliseconds
    from tui.orders.object_forgetting import forget_objects
    from tui.orders.object_listing import NoObjects, object_feed

    with usage_errors(NoObjects):
        feed = object_feed(context.appliance, context.feed_name)
    with usage_errors(BadDuration, prefix="--older-than: "):
        age_ms = milliseconds(older_than)
    found = forget_objects(
        context.appliance,
        feed,
        context.scope,
        told_before_ms=time.time_ns() // 1_000_000 - age_ms,
        is_confirmed=confirm,
        timeout_seconds=context.timeout_seconds,
    )
    emit(context.output, as_values(found), lambda: as_text(found))
    return ExitCode.REFUSED if found.dropped and not found.is_done else ExitCode.DONE
