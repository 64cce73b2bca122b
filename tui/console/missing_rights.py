"""Rights that a server has refused to this user: reasons why actions that need them are off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.facts.part import NOTICES, ORDERS
from tui.pages.page import Action

if TYPE_CHECKING:
    from tui.facts.snapshot import Snapshot

PRIMARY_REGIONS = "primary regions"
OF_ORDERS = ("stream", "balance", "aggregate")
"""Commands that read and write the orders of a region, in its aggregate cluster."""
OF_GROUPS = ("failover", "switchover")


def why_no_right(action: Action, snapshot: Snapshot) -> str | None:
    """Returns the refusal of a server that the action's command has to ask; None without one.

    A command asks its servers as the same user. A right that only writing needs is not known
    beforehand: the console has never tried it.
    """
    command = action.words[0] if action.words else ""
    if command in OF_ORDERS:
        region = _region_of(action, snapshot)
        needed = {(f"{region} aggregate", ORDERS)}
    elif command == "alerts":
        needed = {(f"{_value(action, '--region')} Redis", NOTICES)}
    elif command in OF_GROUPS:
        needed = {(f"{each.region} aggregate", PRIMARY_REGIONS) for each in snapshot.regions}
    else:
        return None
    return next(
        (
            each.problem
            for each in snapshot.parts
            if each.lacks_right and (each.server, each.about) in needed
        ),
        None,
    )


def _region_of(action: Action, snapshot: Snapshot) -> str:
    """Returns the region whose orders an action is about: the target of its route or feed."""
    route = _value(action, "--route")
    if route:
        return route.rpartition(">")[2]
    feed = _value(action, "--feed")
    return next((each.region for each in snapshot.feeds or () if each.feed == feed), "")


def _value(action: Action, option: str) -> str:
    """Returns the value of an option in the words of an action; "" without it."""
    after = dict(zip(action.words, action.words[1:], strict=False))
    return after.get(option, "")
