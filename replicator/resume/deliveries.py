"""Messages on their way to the application: what may be handed out, and what just was."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import Generic, Protocol, TypeVar


class Source(Protocol):
    """Where messages come from: a partition."""

    position: int | None
    """Everything before it was handed out or skipped; None: nothing was."""


From = TypeVar("From", bound=Source)
Item = TypeVar("Item")


class Deliveries(Generic[From, Item]):
    """In the order in which they may go; positions move as they do."""

    def __init__(self) -> None:
        self._ready: deque[tuple[From | None, int | None, Item | None]] = deque()
        self._before: dict[From, int | None] = {}
        """Positions before the present call, where it handed anything out."""

    def __bool__(self) -> bool:
        return bool(self._ready)

    def put(self, source: From | None, position: int | None, item: Item | None) -> None:
        """Of whom, the position after it, what is handed out; no item: only skipped."""
        self._ready.append((source, position, item))

    def begin_call(self) -> None:
        """The application asks for more: what it got before was handled."""
        self._before.clear()

    def next(self) -> Item | None:
        """Handed out by this; None: nothing may go now."""
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
        """The application says that everything before a position was handled."""
        if source in self._before:
            self._before[source] = max(position, self._before[source] or 0)

    def take_back(self) -> None:
        """What the present call handed out may not have been handled."""
        for source, position in self._before.items():
            source.position = position
        self._before.clear()

    def drop(self, gone: Collection[From]) -> None:
        """These are another member's now."""
        sources = set(gone)
        self._ready = deque(each for each in self._ready if each[0] not in sources)
        for source in sources:
            self._before.pop(source, None)
