"""Options shared by the balancing commands, and the routes that these options select."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tui.cli.output import Command, output_option, say

if TYPE_CHECKING:
    from replicator.config.topology import Appliance, Route

SERVER_SECONDS = 15.0
"""Default timeout for each server."""


def _some_text(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    if text is not None and not text.strip():
        raise click.UsageError("--reason is empty")
    return text


def _duration(_: click.Context, __: click.Parameter, text: str | None) -> str | None:
    from tui.actions.durations import BadDuration, milliseconds

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
    """Adds --reason and --for, for commands whose orders may expire."""
    return reason_option(for_option(command))


def answer_options(command: Command) -> Command:
    """Adds --timeout and --output, for commands that contact servers."""
    return server_timeout_option(output_option(command))


def chosen(
    appliance: Appliance, region: str | None, route_name: str | None
) -> tuple[str, tuple[Route, ...]]:
    """Returns the target region and the selected routes.

    The selected routes are the named one or, without a name, all routes into the region.

    Raises:
        UsageError: neither region nor route is given, or the route leads into another region.
        UnknownRegion: region or route is not configured, or no route leads into the region.
    """
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
    """Prints each text as a line on stderr."""
    for text in texts:
        say(text)
