"""sluice stream pause-topic, resume-topic: stop and resume carrying a topic or a partition."""

from __future__ import annotations

import click

from tui.cli.options import answer_options, reason_options, warn
from tui.cli.command_context import CommandContext, on_one_route

partition_option = click.option(
    "--partition", type=click.IntRange(min=0), help="Only this one of its partitions."
)


@click.command("pause-topic")
@click.argument("topic")
@on_one_route
@partition_option
@reason_options
@answer_options
def pause_topic(context: CommandContext, topic: str, partition: int | None) -> int:
    """Carry nothing of TOPIC. Its place in the ledger stays.

    But no longer than offsets.retention.minutes of the target, a week unless set: then only
    accept-loss --restart-at lets it go on.
    """
    from replicator.orders.order_records import Pause
    from tui.actions.order_checks import topics_without

    route = context.route
    order = Pause(**context.said(route), topic=topic, partition=partition)
    if topics_without([topic], context.client.carried(), route.key):
        warn(f"the driver carries no topic {topic} on route {route}")
    return context.give([order])


@click.command("resume-topic")
@click.argument("topic")
@on_one_route
@partition_option
@answer_options
def resume_topic(context: CommandContext, topic: str, partition: int | None) -> int:
    """Carry TOPIC again, from where it was; without --partition all that was paused of it.

    Ends with 4 when a single partition is asked for and the whole topic is paused.
    """
    from replicator.orders.order_records import Pause
    from tui.actions.order_checks import OrderRefused

    of_topic = [each for each in context.standing(Pause) if each.topic == topic]
    if partition is not None and any(each.partition is None for each in of_topic):
        raise OrderRefused(
            f"all of topic {topic} is paused: resume it without --partition, and pause the others "
            "one by one; nothing was changed"
        )
    pauses = [each for each in of_topic if partition in (None, each.partition)]
    nothing = "nothing of it was paused: nothing was changed"
    return context.give(taken_back=pauses, nothing=nothing)
