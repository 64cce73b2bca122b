"""Work beside a measurement, such as rows that come in while queries are timed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import Event, Thread


class Background(ABC):
    """Work in a thread of its own.

    Args:
        over: set once the work shall end.
        error: that ended the work, if any.
    """

    def __init__(self) -> None:
        self.over = Event()
        self.error: Exception | None = None
        self._thread = Thread(target=self._run, daemon=True)

    @abstractmethod
    def work(self) -> None:
        """Works until `over` is set, or there is no more to do."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends the work. Raises what ended it before."""
        self.over.set()
        self._thread.join()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            self.work()
        except Exception as error:
            self.error = error
