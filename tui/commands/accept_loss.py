"""sluice accept-loss: shows parked partitions, and lets them go on behind an accepted loss."""

import asyncio
from collections.abc import Sequence

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
    from tui.commands.views.loss_view import as_text, as_values
    from tui.orders.loss_acceptance import (
        BadAcceptance,
        LossRequest,
        accept_losses,
        topics_of_target,
    )

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
    emit(output, as_values(report), lambda: as_text(report))
    if report.parked:
        return ExitCode.REFUSED
    return ExitCode.PARTLY_DONE if report.left else ExitCode.DONE
