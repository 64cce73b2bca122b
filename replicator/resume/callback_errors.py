"""Errors in a consumer's callbacks, kept until what the same call fetched is taken in.

confluent_kafka throws away every message that it fetched in a call whose callback raises.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class CallbackErrors:
    """The first one, until it is raised."""

    def __init__(self) -> None:
        self._first: BaseException | None = None

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What is raised within is raised by the next raise_first()."""
        try:
            yield
        except BaseException as error:
            self._first = self._first or error

    def raise_first(self) -> None:
        """Where there is one."""
        first, self._first = self._first, None
        if first is not None:
            raise first
