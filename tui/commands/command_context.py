"""Contexts of commands: options that commands with orders share, the orders of their region, and
the routes that balancing commands select."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Concatenate, TypeVar

from tui.commands.exit_codes import ExitCode
from tui.commands.options import (
    SERVER_SECONDS,
    config_option,
    one_route_option,
    region_and_routes,
    region_option,
    route_option,
)
from tui.commands.output import emit, say

if TYPE_CHECKING:
    from replicator.config.topology import Appliance, Route
    from tui.facts.watch.balance_client import BalanceClient
    from tui.orders.region_orders import OrderChange, RegionOrders, Terms

FIELDS = {"timeout": "timeout_seconds", "region": "region_name"}
"""Fields of contexts that have another name than their option."""


@dataclass(frozen=True, kw_only=True)
class OrderContext:
    """Context of one run of a command that reads or changes orders. Blocking.

    Each property is read on first use. Mistakes on the command line are therefore reported before
    the configuration is opened, and mistakes in the configuration before a server is contacted.

    Args:
        config: path of the configuration file.
        timeout_seconds: for each server.
        output: table, json or yaml.
        reason, duration: None when not given, or when the command has no such option.
    """

    config: str
    output: str
    timeout_seconds: float = SERVER_SECONDS
    reason: str | None = None
    duration: str | None = None

    @cached_property
    def appliance(self) -> Appliance:
        from replicator.config.topology import load

        return load(self.config)

    @property
    def region(self) -> str:
        """Region whose orders these are."""
        raise NotImplementedError

    @cached_property
    def client(self) -> BalanceClient:
        from tui.facts.watch.balance_client import BalanceClient

        return BalanceClient(self.appliance, self.region, self.timeout_seconds)

    @cached_property
    def orders(self) -> RegionOrders:
        """Orders of the region, with remarks for the operator on stderr."""
        from tui.orders.operator_events import operator
        from tui.orders.region_orders import RegionOrders

        return RegionOrders(self.client, who=operator(), warn=say)

    @property
    def terms(self) -> Terms:
        from tui.orders.region_orders import Terms

        return Terms(self.reason or "", self.duration)

    def show(self, change: OrderChange, nothing: str = "nothing was changed") -> int:
        """Prints the orders that were written and taken back, or `nothing` when there are none."""
        from tui.commands.order_text import changes_text, changes_values

        written, taken_back = change.written, change.taken_back
        emit(
            self.output,
            changes_values(change.region, written, taken_back),
            lambda: changes_text(written, taken_back, nothing),
        )
        return ExitCode.DONE


Context = TypeVar("Context", bound=OrderContext)
ContextCommand = Callable[Concatenate[Context, ...], int]
"""Command function: takes its context, then its own options by name."""


def with_context(kind: type[Context], command: ContextCommand[Context]) -> Callable[..., int]:
    """Returns the command as a function of options, of which those that `kind` has as fields make
    the context."""
    names = {field.name for field in fields(kind)}

    @wraps(command)
    def run(**options: Any) -> int:
        places = {name: FIELDS.get(name, name) for name in options}
        given = {field: options.pop(name) for name, field in places.items() if field in names}
        return command(kind(**given), **options)

    return run


@dataclass(frozen=True, kw_only=True)
class CommandContext(OrderContext):
    """Context of one run of a balancing command. Blocking.

    Args:
        region_name, route_name: as typed; `region` and `routes` are derived from them.
    """

    region_name: str | None
    route_name: str | None

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
    def _region_and_routes(self) -> tuple[str, tuple[Route, ...]]:
        return region_and_routes(self.appliance, self.region_name, self.route_name)


def on_one_route(command: ContextCommand[CommandContext]) -> Callable[..., int]:
    """Adds --config, --region and a required --route before the command's own options."""
    return config_option(region_option(one_route_option(with_context(CommandContext, command))))


def on_routes(command: ContextCommand[CommandContext]) -> Callable[..., int]:
    """Adds --config, --region and an optional --route, which defaults to all into the region."""
    return config_option(region_option(route_option(with_context(CommandContext, command))))
