"""Registry of the first page of each screen."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from tui.console.page import Page

PAGES = {
    "overview": "tui.console.pages.overview:OverviewPage",
    "routes": "tui.console.pages.routes:RoutesPage",
    "groups": "tui.console.pages.groups:GroupsPage",
    "failover": "tui.console.pages.failover:FailoverPage",
    "balance": "tui.console.pages.balance:BalancePage",
    "alerts": "tui.console.pages.alerts:AlertsPage",
    "feeds": "tui.console.pages.feeds:FeedsPage",
    "events": "tui.console.pages.events:EventsPage",
}
"""Class of each screen's first page, by the name of its key."""


def first_page(screen: str) -> Page:
    """Returns the first page of a screen; its module is imported only now."""
    module, name = PAGES[screen].split(":")
    make = cast("Callable[[], Page]", getattr(import_module(module), name))
    return make()


FirstPage = Callable[[str], Page]
