"""Log lines of the simulated processes, as lines of a history's log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from typing_extensions import override

from tests.world.process import CURRENT

PACKAGES = ("aggregator", "replicator")


class _Teller(logging.Handler):
    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(logging.INFO)
        self._tell = tell

    @override
    def emit(self, record: logging.LogRecord) -> None:
        process = CURRENT.get()
        who = process.name if process is not None else record.name
        self._tell(f"  {who}: {record.levelname.lower()} {record.getMessage()}")


@contextmanager
def told_logs(tell: Callable[[str], None]) -> Iterator[None]:
    """Tells each line that the product logs from INFO on, with the name of its process."""
    loggers, before = [*map(logging.getLogger, PACKAGES)], logging.root.manager.disable
    levels, teller = [it.level for it in loggers], _Teller(tell)
    logging.disable(logging.NOTSET)
    for product in loggers:
        product.setLevel(logging.INFO)
        product.addHandler(teller)
    try:
        yield
    finally:
        for product, level in zip(loggers, levels, strict=True):
            product.removeHandler(teller)
            product.setLevel(level)
        logging.disable(before)
