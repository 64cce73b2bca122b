"""sluice stream pause-topic, resume-topic: single topics and partitions that are not carried."""

from __future__ import annotations

import time

import click

from tui.balance_options import (
    for_option,
    one_chosen,
    one_route_option,
    reason_option,
    region_option,
    server_timeout_option,
    warn,
)
from tui.order_giving import give
from tui.output import config_option, output_option

partition_option = click.option(
    "--partition", type=click.IntRange(min=0), help="Only this one of its partitions."
)


@click.command("pause-topic")
@click.argument("topic")
@config_option
@region_option
@one_route_option
@partition_option
@reason_option
@for_option
@server_timeout_option
@output_option
def pause_topic(
    topic: str,
    config: str,
    region: str | None,
    route_name: str,
    partition: int | None,
    reason: str,
    holds_for: str | None,
    timeout: float,
    output: str,
) -> int:
    """Carry nothing of TOPIC. Its place in the ledger stays."""
    from replicator.config.topology import load
    from replicator.placements.records import Pause
    from tui.balance_desk import Desk
    from tui.operator import operator
    from tui.order_checks import topics_without
    from tui.order_times import until_ms

    appliance = load(config)
    name, route = one_chosen(appliance, region, route_name)
    desk, now_ms = Desk(appliance, name, timeout), _now_ms()
    order = Pause(
        route=route.key,
        at_ms=now_ms,
        who=operator(),
        why=reason,
        until_ms=until_ms(holds_for, now_ms),
        topic=topic,
        partition=partition,
    )
    if topics_without([topic], desk.carried(), route.key):
        warn(f"the driver carries no topic {topic} on route {route}")
    return give(desk, (order,), (), output)


@click.command("resume-topic")
@click.argument("topic")
@config_option
@region_option
@one_route_option
@partition_option
@server_timeout_option
@output_option
def resume_topic(
    topic: str,
    config: str,
    region: str | None,
    route_name: str,
    partition: int | None,
    timeout: float,
    output: str,
) -> int:
    """Carry TOPIC again, from where it was; without --partition all that was paused of it.

    Ends with 4 when a single partition is asked for and the whole topic is paused.
    """
    from replicator.config.topology import load
    from replicator.placements.records import Pause
    from tui.balance_desk import Desk
    from tui.order_checks import OrderRefused

    appliance = load(config)
    name, route = one_chosen(appliance, region, route_name)
    desk = Desk(appliance, name, timeout)
    of_topic = [it for it in desk.book().of(Pause, route.key, _now_ms()) if it.topic == topic]
    if partition is not None and any(each.partition is None for each in of_topic):
        raise OrderRefused(
            f"all of topic {topic} is paused: resume it without --partition, and pause the others "
            "one by one; nothing was changed"
        )
    pauses = [each for each in of_topic if partition in (None, each.partition)]
    return give(desk, (), pauses, output, "nothing of it was paused: nothing was changed")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
