"""Messages on their way to the application: those ready, and those the present call handed out."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Generic, Protocol, TypeVar


class Source(Protocol):
    """Partition that messages come from."""

    position: int | None
    """Offset before which everything was handed out or skipped; None: nothing was."""


From = TypeVar("From", bound=Source)
Item = TypeVar("Item")


class Deliveries(Generic[From, Item]):
    """Queue of messages, in the order in which they may go. Positions advance with them."""

    def __init__(self) -> None:
        self._ready: deque[tuple[From | None, int | None, Item | None]] = deque()
        self._before: dict[From, int | None] = {}
        """Positions before the present call, of the sources that it handed out messages of."""

    def __bool__(self) -> bool:
        return bool(self._ready)

    def put(self, source: From | None, position: int | None, item: Item | None) -> None:
        """Appends a message, or an error, of a source; `position` is the offset after it.

        Without an item the record is skipped and only moves the position. An error has no position.
        """
        self._ready.append((source, position, item))

    def begin_call(self) -> None:
        """Marks what earlier calls handed out as handled: the application asks for more."""
        self._before.clear()

    def next(self) -> Item | None:
        """Hands out the next item; None: none is ready."""
        while self._ready:
            source, position, item = self._ready.popleft()
            if source is not None and position is not None:
                if item is not None:
                    self._before.setdefault(source, source.position)
                source.position = position
            if item is not None:
                return item
        return None

    def settle(self, source: From, position: int) -> None:
        """Marks everything before a position as handled, as the application says."""
        if source in self._before:
            self._before[source] = max(position, self._before[source] or 0)

    def take_back(self) -> None:
        """Resets positions to before the present call, whose messages may not have been handled."""
        for source, position in self._before.items():
            source.position = position
        self._before.clear()

    def drop(self, gone: Collection[From]) -> None:
        """Drops the messages of partitions that are assigned to another member now."""
        sources = set(gone)
        self._ready = deque(each for each in self._ready if each[0] not in sources)
        for source in sources:
            self._before.pop(source, None)
