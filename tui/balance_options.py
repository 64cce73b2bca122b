"""Options that commands about balancing share, and which routes they mean."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.output import Command, output_option, say

if TYPE_CHECKING:
    from replicator.config.topology import Appliance, Route

SERVER_SECONDS = 15.0
"""How long a command waits for each server, unless told otherwise."""


def _some_text(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    if text is not None and not text.strip():
        raise click.UsageError("--reason is empty")
    return text


def _duration(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    from tui.order_times import BadDuration, milliseconds

    if text is not None:
        try:
            milliseconds(text)
        except BadDuration as error:
            raise click.UsageError(f"--for: {error}") from None
    return text


region_option = click.option(
    "--region", metavar="REGION", help="The TARGET region; that of --route unless given."
)
one_route_option = click.option("--route", "route_name", required=True, metavar="SOURCE>TARGET")
route_option = click.option(
    "--route", "route_name", metavar="SOURCE>TARGET", help="Only this route into the region."
)
stream_option = click.option("--stream", metavar="STREAM", help="Only this stream.")
reason_option = click.option(
    "--reason", required=True, callback=_some_text, help="Why; recorded, and shown to others."
)
new_reason_option = click.option(
    "--reason", callback=_some_text, help="Why; what was said before stays unless given."
)
for_option = click.option(
    "--for",
    "holds_for",
    metavar="DURATION",
    callback=_duration,
    help="It ends by itself after that: 90s, 30m, 2h, 7d. Default: once it is taken back.",
)
server_timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    default=SERVER_SECONDS,
    show_default=True,
    help="Seconds per server.",
)


def reason_options(command: Command) -> Command:
    """--reason and --for: of orders that may end by themselves."""
    return reason_option(for_option(command))


def answer_options(command: Command) -> Command:
    """--timeout and --output: of whatever asks servers."""
    return server_timeout_option(output_option(command))


def chosen(
    appliance: Appliance, region: str | None, route_name: str | None
) -> tuple[str, tuple[Route, ...]]:
    """The region, and its routes or the one that is named; raises UsageError or UnknownRegion."""
    from replicator.config.topology import UnknownRegion

    route = None if route_name is None else appliance.route(route_name)
    if region is None:
        if route is None:
            raise click.UsageError("either --region or --route")
        return route.target, (route,)
    routes = appliance.routes_into(region)
    if route is not None:
        if route not in routes:
            raise click.UsageError(f"route {route} does not lead into region {region}")
        return region, (route,)
    if not routes:
        raise UnknownRegion(f"no route leads into {region!r}; add one to routes")
    return region, routes


def warn(*texts: str) -> None:
    """A line for each, on stderr."""
    for text in texts:
        say(text)
