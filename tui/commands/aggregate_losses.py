"""sluice aggregate accept-loss: lets parked partitions of a feed go on behind a loss."""

from __future__ import annotations

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import FeedContext, on_partitions
from tui.commands.options import output_option, timeout_option, usage_errors
from tui.commands.output import emit


@click.command("accept-loss")
@on_partitions
@click.option(
    "--restart-at",
    type=click.IntRange(min=0),
    metavar="OFFSET",
    help="Offset to go on at, for one partition whose loss does not say where.",
)
@click.option("--yes", is_flag=True, help="Accept the losses. Without --yes nothing is changed.")
@timeout_option(30.0, "Seconds to wait for each cluster.")
@output_option
def accept_loss(context: FeedContext, restart_at: int | None, yes: bool) -> int:
    """Show the partitions that are parked, or let them go on.

    Without --yes it shows the parked partitions and the reasons, and exits with 4 if there are any.
    With --yes these partitions go on behind the loss; a running `sluice aggregate` takes them up by
    itself, and `sluice verify` reports the loss as accepted. Exits with 5 when some are left as
    they were, and with 3 when a cluster does not answer in time.
    """
    from tui.commands.views.feed_losses_view import as_text, as_values
    from tui.orders.feed_loss_acceptance import BadRestart, FeedLossRequest, accept_feed_losses

    request = FeedLossRequest(
        feed=context.feed,
        scope=context.scope,
        restart_at=restart_at,
        is_accepting=yes,
        timeout_seconds=context.timeout_seconds,
    )
    with usage_errors(BadRestart):
        losses = accept_feed_losses(context.appliance, request)
    emit(context.output, as_values(losses), lambda: as_text(losses))
    if losses.parked:
        return ExitCode.REFUSED
    return ExitCode.PARTLY_DONE if losses.left else ExitCode.DONE
