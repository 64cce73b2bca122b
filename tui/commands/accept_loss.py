"""sluice accept-loss: what is parked, and the operator's word that it goes on."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from tui.exit_codes import ExitCode
from tui.output import config_option, emit, output_option, table

if TYPE_CHECKING:
    from replicator.carrier.accept_loss import Accepted, Parked


@click.command("accept-loss")
@config_option
@click.option("--route", "route_name", required=True, metavar="SOURCE>TARGET")
@click.option("--topic", "topics", multiple=True, help="Only this topic; may be repeated.")
@click.option("--partition", "numbers", type=int, multiple=True, help="Only this partition.")
@click.option(
    "--restart-at",
    type=click.IntRange(min=0),
    metavar="SOURCE_OFFSET",
    help="Where to go on with partitions whose ledger entry is gone.",
)
@click.option("--yes", is_flag=True, help="Accept. Without it nothing is changed.")
@output_option
def accept_loss(
    config: str,
    route_name: str,
    topics: Sequence[str],
    numbers: Sequence[int],
    restart_at: int | None,
    yes: bool,
    output: str,
) -> int:
    """Show the partitions that were stopped because records are lost, or let them go on.

    Without --yes it shows what is parked, and why, and ends with 4 when anything is. With --yes
    those partitions go on behind the loss; a running `sluice replicate` takes them up by itself.
    """
    from replicator.config.topology import load

    appliance = load(config)
    route = appliance.route(route_name)
    return asyncio.run(
        _run(appliance, route, frozenset(topics), frozenset(numbers), restart_at, yes, output)
    )


async def _run(
    appliance: Any,
    route: Any,
    topics: frozenset[str],
    numbers: frozenset[int],
    restart_at: int | None,
    yes: bool,
    output: str,
) -> int:
    from replicator.carrier.accept_loss import Acceptance
    from replicator.topics.admin import Admin

    if not topics:
        target = Admin(f"{route.target} aggregate", appliance.target_of(route))
        topics = frozenset(topic.name for topic in target.topics())
    acceptance = Acceptance(appliance, route)
    try:
        await acceptance.open(topics)
        found = [
            one
            for one in await acceptance.parked(topics)
            if not numbers or one.partition.partition in numbers
        ]
        if not found or not yes:
            emit(output, [_parked(one) for one in found], lambda: _shown(found))
            return ExitCode.REFUSED if found else ExitCode.DONE
        try:
            accepted = await acceptance.accept(found, restart_at)
        except ValueError as error:
            raise click.UsageError(str(error)) from error
    finally:
        await acceptance.close()
    emit(output, [_accepted(one) for one in accepted], lambda: _told(accepted))
    return ExitCode.DONE if len(accepted) == len(found) else ExitCode.PARTLY_DONE


def _parked(one: "Parked") -> dict[str, Any]:
    return {**one.partition._asdict(), "reason": one.reason}


def _accepted(one: "Accepted") -> dict[str, Any]:
    return {
        **one.partition._asdict(),
        "accepted": list(one.losses),
        "goes_on_at_source_offset": one.source_offset,
    }


def _shown(found: Sequence["Parked"]) -> str:
    if not found:
        return "nothing is parked"
    return table(["TOPIC", "PARTITION", "REASON"], [(*one.partition, one.reason) for one in found])


def _told(accepted: Sequence["Accepted"]) -> str:
    return table(
        ["TOPIC", "PARTITION", "GOES ON AT", "ACCEPTED"],
        [(*one.partition, one.source_offset, "; ".join(one.losses)) for one in accepted],
    )
