"""What a command about balancing is sent for: to which routes, and with what it goes there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Concatenate, TypedDict, TypeVar

from tui.balance_options import (
    SERVER_SECONDS,
    chosen,
    one_route_option,
    region_option,
    route_option,
)
from tui.exit_codes import ExitCode
from tui.output import config_option, emit

if TYPE_CHECKING:
    from replicator.config.topology import Appliance, Route
    from replicator.placements.book import Book
    from replicator.placements.records import AnyRecord, Order
    from tui.balance_desk import Desk

Kind = TypeVar("Kind", bound="Order")


class Said(TypedDict):
    """What every order says, whatever it is about."""

    route: str
    at_ms: int
    who: str
    why: str
    until_ms: int | None


@dataclass(frozen=True, kw_only=True)
class Errand:
    """One run of a command. Blocking.

    Nothing is read before it is needed: what is wrong with the words of a command is said before a
    file is opened, and what is wrong with the file before a server is asked.

    Args:
        region_name, route_name: as they were given; `region` and `routes` are what they mean.
        timeout_seconds: for each server.
        reason, holds_for: None: not given, or the command has no such option.
    """

    config: str
    region_name: str | None
    route_name: str | None
    timeout_seconds: float
    output: str
    reason: str | None
    holds_for: str | None

    @cached_property
    def appliance(self) -> Appliance:
        from replicator.config.topology import load

        return load(self.config)

    @property
    def region(self) -> str:
        return self._chosen[0]

    @property
    def routes(self) -> tuple[Route, ...]:
        return self._chosen[1]

    @property
    def route(self) -> Route:
        """The only one: of a command on one route."""
        (route,) = self.routes
        return route

    @cached_property
    def desk(self) -> Desk:
        from tui.balance_desk import Desk

        return Desk(self.appliance, self.region, self.timeout_seconds)

    @cached_property
    def book(self) -> Book:
        """Raises AdminError or LogUnreadable."""
        return self.desk.book()

    @cached_property
    def now_ms(self) -> int:
        """When it was first asked for. Whoever needs the book reads it before: nothing in it is of
        a later time then."""
        return time.time_ns() // 1_000_000

    @cached_property
    def who(self) -> str:
        from tui.operator import operator

        return operator()

    def said(self, route: Route) -> Said:
        """Of an order for that route; each kind adds what it is about."""
        from tui.order_times import until_ms

        return Said(
            route=route.key,
            at_ms=self.now_ms,
            who=self.who,
            why=self.reason or "",
            until_ms=until_ms(self.holds_for, self.now_ms),
        )

    def standing(self, kind: type[Kind]) -> list[Kind]:
        """The orders of a kind that hold on its routes."""
        book = self.book
        return [each for route in self.routes for each in book.of(kind, route.key, self.now_ms)]

    def give(
        self,
        orders: Iterable[AnyRecord] = (),
        *,
        taken_back: Iterable[AnyRecord] = (),
        nothing: str = "nothing was changed",
    ) -> int:
        """Writes what is new and takes back what is not wanted any more; prints both."""
        from replicator.placements.records import Order, key_of
        from tui.order_view import changes_text, changes_values

        new, old = list(orders), list(taken_back)
        if new or old:
            self.desk.write(new, [key_of(each) for each in old])
        written: list[Order] = [each for each in new if isinstance(each, Order)]
        gone: list[Order] = [each for each in old if isinstance(each, Order)]
        emit(
            self.output,
            changes_values(self.region, written, gone),
            lambda: changes_text(written, gone, nothing),
        )
        return ExitCode.DONE

    @cached_property
    def _chosen(self) -> tuple[str, tuple[Route, ...]]:
        return chosen(self.appliance, self.region_name, self.route_name)


OnErrand = Callable[Concatenate[Errand, ...], int]
"""Is given its errand, and then by name what no other command takes."""


def on_one_route(command: OnErrand) -> Callable[..., int]:
    """--config, --region and a --route that is required, before the command's own options."""
    return config_option(region_option(one_route_option(_sent(command))))


def on_routes(command: OnErrand) -> Callable[..., int]:
    """The same with a --route that may be left out: all routes into the region then."""
    return config_option(region_option(route_option(_sent(command))))


def _sent(command: OnErrand) -> Callable[..., int]:
    @wraps(command)
    def sent(
        *,
        config: str,
        region: str | None,
        route_name: str | None,
        output: str,
        # Not every command has an option for these.
        timeout: float = SERVER_SECONDS,
        reason: str | None = None,
        holds_for: str | None = None,
        **own: object,
    ) -> int:
        errand = Errand(
            config=config,
            region_name=region,
            route_name=route_name,
            timeout_seconds=timeout,
            output=output,
            reason=reason,
            holds_for=holds_for,
        )
        return command(errand, **own)

    return sent
