"""Command context of the balancing commands: selected routes, options, orders of the region."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tui.commands.options import (
    config_option,
    one_route_option,
    region_and_routes,
    region_option,
    route_option,
)
from tui.commands.order_context import ContextCommand, OrderContext, with_context

if TYPE_CHECKING:
    from replicator.config.topology import Route


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
