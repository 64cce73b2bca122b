"""sluice stream pause-topic, resume-topic: stop and resume carrying a topic or a partition."""

from __future__ import annotations

import click

from tui.commands.command_context import CommandContext, on_one_route
from tui.commands.options import answer_options, reason_options

partition_option = click.option(
    "--partition", type=click.IntRange(min=0), help="Only this partition of the topic."
)


@click.command("pause-topic")
@click.argument("topic")
@on_one_route
@partition_option
@reason_options
@answer_options
def pause_topic(context: CommandContext, topic: str, partition: int | None) -> int:
    """Stop carrying TOPIC. Its ledger entries stay.

    A running `sluice replicate` keeps the entries, however long that takes. Once it has been down
    for offsets.retention.minutes, only `accept-loss --restart-at` lets the topic go on.
    """
    from tui.orders.orders import pause_topic as pause

    return context.show(pause(context.orders, context.route, topic, partition, context.terms))


@click.command("resume-topic")
@click.argument("topic")
@on_one_route
@partition_option
@answer_options
def resume_topic(context: CommandContext, topic: str, partition: int | None) -> int:
    """Carry TOPIC again, from its ledger entries on. Without --partition: all its pauses end.

    Exits with 4 when --partition is given and the whole topic is paused.
    """
    from tui.orders.orders import resume_topic as resume

    change = resume(context.orders, context.route, topic, partition)
    return context.show(change, nothing="nothing of it was paused: nothing was changed")
