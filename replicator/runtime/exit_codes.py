"""Exit codes of a daemon that acts for a region, and the choice of the error that decides."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum


class Exit(IntEnum):
    """Exit codes; 2 and 8 must prevent a restart (systemd: RestartPreventExitStatus=2 8)."""

    STOPPED = 0
    FAILED = 1
    """Something outside failed; a restart may help."""
    MISCONFIGURED = 2
    UNREACHABLE = 3
    """The target did not answer."""
    FENCED = 8
    """A newer daemon of the same region runs: a restart would take the region back from it."""


def leaves(error: BaseException) -> Iterator[BaseException]:
    """Yields the errors of a group and of the groups in it; any other error yields itself."""
    if isinstance(error, BaseExceptionGroup):
        for each in error.exceptions:
            yield from leaves(each)
    else:
        yield error


def decisive(error: BaseException, fences: tuple[type[BaseException], ...]) -> BaseException:
    """Returns the error that decides how to end.

    A fence decides over any other error, since a restart would take the region back.

    Args:
        fences: error types that mean a fence.
    """
    found = list(leaves(error))
    return next((each for each in found if isinstance(each, fences)), found[0])
