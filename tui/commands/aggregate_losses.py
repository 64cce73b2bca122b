"""sluice aggregate accept-loss: lets parked partitions of a feed go on behind a loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tui.commands.exit_codes import ExitCode
from tui.commands.feed_context import FeedContext, on_partitions
from tui.commands.options import output_option, timeout_option, usage_errors
from tui.commands.output import emit
from tui.commands.text import table

if TYPE_CHECKING:
    from tui.facts.feed_losses import FeedLosses

PARKED_HEADS = ("CLUSTER", "TOPIC", "PARTITION", "LOADED TO", "REASON")
CONTINUED_HEADS = ("CLUSTER", "TOPIC", "PARTITION", "GOES ON AT", "ACCEPTED")


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
    emit(context.output, losses_values(losses), lambda: losses_text(losses))
    if losses.parked:
        return ExitCode.REFUSED
    return ExitCode.PARTLY_DONE if losses.left else ExitCode.DONE


def losses_values(losses: FeedLosses) -> dict[str, Any]:
    """Returns plain values for JSON and YAML."""
    return {
        "parked": [
            {
                **each.partition._asdict(),
                "loaded_to": each.intent.offset if each.intent else None,
                "reason": each.reason,
            }
            for each in losses.parked
        ],
        "continued": [
            {**each.partition._asdict(), "accepted": each.reason, "goes_on_at": each.offset}
            for each in losses.continued
        ],
        "left": [
            {**partition._asdict(), "reason": reason} for partition, reason in losses.left.items()
        ],
    }


def losses_text(losses: FeedLosses) -> str:
    """Formats a table for people: parked partitions, or continued and left ones."""
    if losses.parked:
        parked = [
            (*each.partition, each.intent.offset if each.intent else None, each.reason)
            for each in losses.parked
        ]
        return table(PARKED_HEADS, parked)
    if not losses.continued and not losses.left:
        return "nothing is parked"
    rows: list[tuple[Any, ...]] = [
        (*each.partition, each.offset, each.reason) for each in losses.continued
    ]
    rows += [
        (*partition, None, f"left as it is: {reason}") for partition, reason in losses.left.items()
    ]
    return table(CONTINUED_HEADS, rows)
