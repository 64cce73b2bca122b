"""sluice accept-loss: shows parked partitions, and lets them go on behind an accepted loss."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from tui.cli.exit_codes import ExitCode
from tui.cli.output import config_option, emit, output_option, table

if TYPE_CHECKING:
    from balancer.plan import TopicPartition
    from replicator.mirror.repair.accept_loss import Acceptance, Accepted, Parked


@click.command("accept-loss")
@config_option
@click.option("--route", "route_name", required=True, metavar="SOURCE>TARGET")
@click.option("--topic", "topics", multiple=True, help="Only this topic; may be repeated.")
@click.option("--partition", "numbers", type=int, multiple=True, help="Only this partition.")
@click.option(
    "--restart-at",
    type=click.IntRange(min=0),
    metavar="SOURCE_OFFSET",
    help="Where to go on with partitions whose ledger entry is gone, whose source cannot be read "
    "from an offset on, or whose refused records shall be sent again.",
)
@click.option("--yes", is_flag=True, help="Accept. Without it nothing is changed.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=30.0,
    show_default=True,
    help="Seconds until it gives up on clusters that do not answer; reading a log is progress.",
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
    """Show the partitions that were stopped because records are lost, or let them go on.

    Without --yes it shows what is parked, and why, and ends with 4 when anything is. With --yes
    those partitions go on behind the loss; a running `sluice replicate` takes them up by itself.
    Ends with 3 when a cluster does not answer in time: the target, and with --yes the source too.
    """
    from replicator.config.topology import load
    from replicator.kafka.admin.admin import Admin
    from replicator.mirror.repair.accept_loss import Acceptance

    appliance = load(config)
    route = appliance.route(route_name)
    names = frozenset(topics)
    if not names:
        target = Admin(f"{route.target} aggregate", appliance.target_of(route), timeout)
        names = frozenset(topic.name for topic in target.topics())
    acceptance = Acceptance(appliance, route)
    return asyncio.run(
        _within(timeout, acceptance, names, frozenset(numbers), restart_at, yes, output)
    )


async def _within(seconds: float, acceptance: "Acceptance", *what: Any) -> int:
    from replicator.kafka.client.brokers import Unreachable

    running = asyncio.create_task(_run(acceptance, *what))
    read = -1
    try:
        while acceptance.bytes_read > read:
            read = acceptance.bytes_read
            await asyncio.wait([running], timeout=seconds)
            if running.done():
                return running.result()
    finally:
        trouble = acceptance.trouble
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    raise Unreachable(
        f"given up after {seconds:g} s: {trouble}; look again with `sluice "
        "accept-loss`: what was not accepted is parked as before"
    )


async def _run(
    acceptance: "Acceptance",
    topics: frozenset[str],
    numbers: frozenset[int],
    restart_at: int | None,
    yes: bool,
    output: str,
) -> int:
    try:
        await acceptance.open(topics)
        if unknown := await acceptance.unknown(topics):
            raise click.UsageError(
                f"neither in the target nor ever mirrored on this route: {', '.join(unknown)}"
            )
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
    left = acceptance.left
    rows = [_accepted(one) for one in accepted] + [_left(*each) for each in left.items()]
    emit(output, rows, lambda: _told(accepted, left))
    return ExitCode.PARTLY_DONE if left else ExitCode.DONE


def _parked(one: "Parked") -> dict[str, Any]:
    return {**one.partition._asdict(), "reason": one.reason}


def _accepted(one: "Accepted") -> dict[str, Any]:
    return {
        **one.partition._asdict(),
        "accepted": list(one.losses),
        "goes_on_at_source_offset": one.source_offset,
        "left_because": None,
    }


def _left(partition: "TopicPartition", reason: str) -> dict[str, Any]:
    return {
        **partition._asdict(),
        "accepted": [],
        "goes_on_at_source_offset": None,
        "left_because": reason,
    }


def _shown(found: Sequence["Parked"]) -> str:
    if not found:
        return "nothing is parked"
    return table(["TOPIC", "PARTITION", "REASON"], [(*one.partition, one.reason) for one in found])


def _told(accepted: Sequence["Accepted"], left: Mapping["TopicPartition", str]) -> str:
    rows: list[tuple[Any, ...]] = [
        (*one.partition, one.source_offset, "; ".join(one.losses)) for one in accepted
    ]
    rows += [(*partition, None, f"left as it is: {reason}") for partition, reason in left.items()]
    return table(["TOPIC", "PARTITION", "GOES ON AT", "ACCEPTED"], rows)
