"""Errors of a consumer's callbacks, kept until the messages of the same call are taken in.

confluent_kafka drops every message that it fetched in a call whose callback raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CallbackErrors:
    """First error of the callbacks, kept until it is raised."""

    def __init__(self) -> None:
        self._first: BaseException | None = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keeps an error that is raised within, for the next raise_first()."""
        try:
            yield
        except BaseException as error:
            self._first = self._first or error

    def raise_first(self) -> None:
        """Raises the first error that was kept, if there is one."""
        first, self._first = self._first, None
        if first is not None:
            raise first
