"""sluice balance pause, pin, exclude, and their opposites: orders to the balancer."""

from __future__ import annotations

import click

from tui.commands.command_context import CommandContext, on_one_route, on_routes
from tui.commands.options import answer_options, reason_options, stream_option

carrier_argument = click.argument("carrier", type=click.IntRange(min=0))
partition_argument = click.argument("partition", type=click.IntRange(min=0))


@click.command()
@on_routes
@stream_option
@reason_options
@answer_options
def pause(context: CommandContext, stream: str | None) -> int:
    """Keep partitions on their carriers: of all streams of all routes, or of the named ones.

    Records are still carried, and new partitions get a carrier. Manual orders are still followed.
    """
    from tui.orders.placement_orders import hold

    return context.show(hold(context.orders, context.routes, stream, context.terms))


@click.command()
@on_routes
@stream_option
@answer_options
def resume(context: CommandContext, stream: str | None) -> int:
    """Take `pause` back: for all streams of all routes, or for the named ones."""
    from tui.orders.placement_orders import release

    change = release(context.orders, context.routes, stream)
    return context.show(change, nothing="nothing was held: nothing was changed")


@click.command()
@click.argument("topic")
@partition_argument
@on_one_route
@click.option("--carrier", type=click.IntRange(min=0), required=True, help="Number of the carrier.")
@reason_options
@answer_options
def pin(context: CommandContext, topic: str, partition: int, carrier: int) -> int:
    """Keep PARTITION of TOPIC on one carrier.

    Exits with 4 when the driver does not carry the partition, or when its stream cannot have a
    carrier of that number. While the carrier does not exist, the pin waits, which is an alert.
    """
    from tui.orders.placement_orders import pin as pin_partition

    return context.show(
        pin_partition(context.orders, context.route, topic, partition, carrier, context.terms)
    )


@click.command()
@click.argument("topic")
@partition_argument
@on_one_route
@answer_options
def unpin(context: CommandContext, topic: str, partition: int) -> int:
    """Take `pin` back. The partition stays on its carrier until a plan moves it."""
    from tui.orders.placement_orders import unpin as unpin_partition

    change = unpin_partition(context.orders, context.route, topic, partition)
    return context.show(change, nothing=f"{topic}-{partition} was not pinned: nothing was changed")


@click.command()
@carrier_argument
@on_one_route
@reason_options
@answer_options
def exclude(context: CommandContext, carrier: int) -> int:
    """Take CARRIER out of placements: its partitions move to other carriers."""
    from tui.orders.placement_orders import exclude as exclude_carrier

    return context.show(exclude_carrier(context.orders, context.route, carrier, context.terms))


@click.command()
@carrier_argument
@on_one_route
@answer_options
def include(context: CommandContext, carrier: int) -> int:
    """Take `exclude` back."""
    from tui.orders.placement_orders import include as include_carrier

    change = include_carrier(context.orders, context.route, carrier)
    return context.show(change, nothing=f"carrier {carrier} was not excluded: nothing was changed")
