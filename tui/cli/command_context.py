"""Command context of the balancing commands: selected routes, options, orders of the region."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate

from tui.cli.exit_codes import ExitCode
from tui.cli.options import (
    SERVER_SECONDS,
    config_option,
    one_route_option,
    region_and_routes,
    region_option,
    route_option,
)
from tui.cli.output import emit, say

if TYPE_CHECKING:
    from replicator.config.topology import Appliance, Route
    from tui.actions.region_orders import OrderChange, RegionOrders, Terms
    from tui.state.balance_client import BalanceClient


@dataclass(frozen=True, kw_only=True)
class CommandContext:
    """Context of one run of a balancing command. Blocking.

    Each property is read on first use. Mistakes on the command line are therefore reported before
    the configuration is opened, and mistakes in the configuration before a server is contacted.

    Args:
        config: path of the configuration file.
        region_name, route_name: as typed; `region` and `routes` are derived from them.
        timeout_seconds: for each server.
        output: table, json or yaml.
        reason, duration: None when not given, or when the command has no such option.
    """

    config: str
    region_name: str | None
    route_name: str | None
    timeout_seconds: float
    output: str
    reason: str | None
    duration: str | None

    @cached_property
    def appliance(self) -> Appliance:
        from replicator.config.topology import load

        return load(self.config)

    @property
    def region(self) -> str:
        return self._region_and_routes[0]

    @property
    def routes(self) -> tuple[Route, ...]:
        return self._region_and_routes[1]

    @property
    def route(self) -> Route:
        """Route of a command that takes exactly one."""
        (route,) = self.routes
        return route

    @cached_property
    def client(self) -> BalanceClient:
        from tui.state.balance_client import BalanceClient

        return BalanceClient(self.appliance, self.region, self.timeout_seconds)

    @cached_property
    def orders(self) -> RegionOrders:
        """Orders of the region, with remarks for the operator on stderr."""
        from tui.actions.operator import operator
        from tui.actions.region_orders import RegionOrders

        return RegionOrders(self.client, who=operator(), warn=say)

    @property
    def terms(self) -> Terms:
        from tui.actions.region_orders import Terms

        return Terms(self.reason or "", self.duration)

    def show(self, change: OrderChange, nothing: str = "nothing was changed") -> int:
        """Prints the orders that were written and taken back, or `nothing` when there are none."""
        from tui.cli.views.order_view import changes_text, changes_values

        written, taken_back = change.written, change.taken_back
        emit(
            self.output,
            changes_values(change.region, written, taken_back),
            lambda: changes_text(written, taken_back, nothing),
        )
        return ExitCode.DONE

    @cached_property
    def _region_and_routes(self) -> tuple[str, tuple[Route, ...]]:
        return region_and_routes(self.appliance, self.region_name, self.route_name)


ContextCommand = Callable[Concatenate[CommandContext, ...], int]
"""Command function: takes the command context, then its own options by name."""


def on_one_route(command: ContextCommand) -> Callable[..., int]:
    """Adds --config, --region and a required --route before the command's own options."""
    return config_option(region_option(one_route_option(_with_context(command))))


def on_routes(command: ContextCommand) -> Callable[..., int]:
    """Adds --config, --region and an optional --route, which defaults to all into the region."""
    return config_option(region_option(route_option(_with_context(command))))


def _with_context(command: ContextCommand) -> Callable[..., int]:
    @wraps(command)
    def run(
        *,
        config: str,
        region: str | None,
        route_name: str | None,
        output: str,
        # Commands without an option for these get the defaults.
        timeout: float = SERVER_SECONDS,
        reason: str | None = None,
        duration: str | None = None,
        **own: object,
    ) -> int:
        context = CommandContext(
            config=config,
            region_name=region,
            route_name=route_name,
            timeout_seconds=timeout,
            output=output,
            reason=reason,
            duration=duration,
        )
        return command(context, **own)

    return run
