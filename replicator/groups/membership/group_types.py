"""Types of groups, and groups that no plan moves because they commit no offsets.

A share group (KIP-932) keeps the state of each record in the brokers' share coordinator, so there
is no offset to translate.
"""

from __future__ import annotations

from collections.abc import Mapping

MOVABLE = frozenset({"classic", "consumer", "streams"})
"""Types of groups whose progress is committed offsets; any other type is not moved."""


def unmovable(types: Mapping[str, str]) -> dict[str, str]:
    """Returns the groups whose progress is no committed offset, each with its type."""
    return {group: type_ for group, type_ in types.items() if type_ not in MOVABLE}


def unmovable_text(groups: Mapping[str, str]) -> str:
    """Returns why groups of these types are not moved."""
    types = " and ".join(sorted(set(groups.values())))
    return (
        f"groups of type {types} keep their progress in the brokers, not in committed offsets, so "
        "no plan moves them"
    )
