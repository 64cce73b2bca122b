"""A process that runs a command of `sluice`, and ends or stops at a named step of a restore.

    python -m tests.live.restore_steps STEP NTH SIGKILL|SIGSTOP restore --config ...

At the nth time that the step is reached, the process sends itself the signal: SIGKILL, as a power
cut would, or SIGSTOP, which makes it a zombie until the test sends SIGCONT. It stops only once,
or with EACH-NTH each nth time.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from aggregator.loader.intent_effects import EffectProducer
from aggregator.restore.restore_entry import RestoreEntries
from aggregator.restore.restore_session import RestoreSession
from deploy.lab.process import Process
from replicator.kafka.client.fenced_committer import Identity
from tests.live.feed_steps import Ending
from tests.live.loader_process import CHECKOUT
from tests.live.object_steps import _around
from tui.program import run

EACH = "EACH-"


class Step(StrEnum):
    """Steps of a restore, in their order."""

    CLAIM_WANTED = "claim-wanted"
    CLAIMED = "claimed"
    BATCH_SENT = "batch-sent"
    """A batch is in the log, in a transaction that has not ended."""
    ALL_SENT = "all-sent"
    """So are the runs: only the end of the transaction is left."""
    COMMITTED = "committed"


class EachEnding(Ending):
    """Signal that this process sends itself each nth time that a step is reached."""

    def reach(self, step: Any) -> None:
        if step is self._step and self._left == 0:
            self._left = self._nth
        super().reach(step)

    def __init__(self, step: Any, nth: int, number: signal.Signals) -> None:
        super().__init__(step, nth, number)
        self._nth = nth


def watch(ending: Ending) -> None:
    """Makes the work of this process tell which step is reached."""
    _around(EffectProducer, "_send", lambda *_, **__: (None, Step.ALL_SENT), ending)
    _around(RestoreSession, "_send", lambda *_, **__: (None, Step.BATCH_SENT), ending)
    _around(RestoreSession, "_commit", lambda *_, **__: (None, Step.COMMITTED), ending)

    act = RestoreEntries.commit

    async def commit(self: Any, *arguments: Any, effects: Any = None) -> None:
        # With effects it is the commit of a session.
        if effects is None:
            ending.reach(Step.CLAIM_WANTED)  # type: ignore[arg-type]
        await act(self, *arguments, effects=effects)
        if effects is None:
            ending.reach(Step.CLAIMED)  # type: ignore[arg-type]

    RestoreEntries.commit = commit


@contextmanager
def each_transaction_twice() -> Iterator[None]:
    """Has restores of this process send the records of each transaction two times."""
    act = RestoreEntries.commit

    async def commit(self: Any, *arguments: Any, effects: Any = None) -> None:
        async def send(identity: Identity) -> None:
            await effects(identity)
            await effects(identity)

        await act(self, *arguments, effects=effects and send)

    RestoreEntries.commit = commit
    try:
        yield
    finally:
        RestoreEntries.commit = act


def begin_with_end(
    directory: Path, words: list[str], step: Step, nth: int | str, number: signal.Signals
) -> Process:
    """Starts a command that ends or stops at a step."""
    log = directory / f"restore-{step}-{nth}-{len(list(directory.iterdir()))}.log"
    ends = [step, str(nth), number.name]
    return Process(
        f"restore-until-{step}",
        [sys.executable, "-m", "tests.live.restore_steps", *ends, *words],
        log,
        environment={"PYTHONPATH": str(CHECKOUT)},
    )


if __name__ == "__main__":
    named_step, nth, named_signal, *words = sys.argv[1:]
    times = nth.removeprefix(EACH)
    kind = Ending if times == nth else EachEnding
    watch(kind(Step(named_step), int(times), signal.Signals[named_signal]))  # type: ignore[arg-type]
    sys.exit(run(words))
