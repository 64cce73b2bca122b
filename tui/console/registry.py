"""Registry of the first page of each screen."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from tui.pages.page import Page

PAGES = {
    "overview": "tui.pages.overview:OverviewPage",
    "routes": "tui.pages.routes:RoutesPage",
    "groups": "tui.pages.groups:GroupsPage",
    "failover": "tui.pages.failover:FailoverPage",
    "balance": "tui.pages.balance:BalancePage",
    "alerts": "tui.pages.alerts:AlertsPage",
    "feeds": "tui.pages.feeds:FeedsPage",
    "events": "tui.pages.events:EventsPage",
}
"""Class of each screen's first page, by the name of its key."""


def first_page(screen: str) -> Page:
    """Returns the first page of a screen; its module is imported only now."""
    module, name = PAGES[screen].split(":")
    make = cast("Callable[[], Page]", getattr(import_module(module), name))
    return make()
