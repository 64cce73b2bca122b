"""How a daemon that acts for a region ends, and which of its errors says why."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum


class Exit(IntEnum):
    """Whoever restarts it should not do so on 2 and 8 (systemd: RestartPreventExitStatus=2 8)."""

    STOPPED = 0
    FAILED = 1
    """Something outside failed; a restart may help."""
    MISCONFIGURED = 2
    UNREACHABLE = 3
    """The target did not answer."""
    FENCED = 8
    """A newer one of the same region runs: starting again would take the region back from it."""


def leaves(error: BaseException | None) -> Iterator[BaseException | None]:
    """The errors of a group, and of the groups in it; any other error is its own only one."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from leaves(each)
    else:
        yield error


def decisive(
    error: BaseException | None, fences: tuple[type[BaseException], ...]
) -> BaseException | None:
    """The one error that decides how to end. Fenced beside anything else is fenced: a restart would
    take the region back."""
    found = list(leaves(error))
    return next((each for each in found if isinstance(each, fences)), found[0])
