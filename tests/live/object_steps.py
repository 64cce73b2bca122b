"""A loader process that ends, or stops, at a named step of an object's way.

    python -m tests.live.object_steps TOLD STEP NTH KILL|STOP

At the nth time that the step is reached, the process sends itself the signal: SIGKILL, as a power
cut would, or SIGSTOP, which makes it a zombie until the test sends SIGCONT.
"""

from __future__ import annotations

import asyncio
import pickle
import signal
import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Any

from aggregator.loader.intent_committer import IntentCommitter
from aggregator.loader.intent_effects import EffectProducer
from aggregator.loader.loader import load
from aggregator.s3.object_upload import ObjectUpload
from deploy.lab.process import Process
from replicator.runtime.logs import log_to_stderr
from tests.live.feed_steps import Ending
from tests.live.loader_process import CHECKOUT
from tests.live.object_ground import ObjectGround


class Step(StrEnum):
    """Steps of an object's way, in their order."""

    PARTS_SENT = "parts-sent"
    """Only the completion is left; no intent names the object."""
    SEAL_WANTED = "seal-wanted"
    SEALED = "sealed"
    COMPLETED = "completed"
    """The server has answered, and nobody has asked HEAD."""
    PASS_WANTED = "pass-wanted"
    TOLD = "told"
    """The manifest is in the log, in a transaction that has not ended."""
    PASSED = "passed"
    RELEASE_WANTED = "release-wanted"
    RELEASED = "released"


def watch(ending: Ending) -> None:
    """Makes the work of this process tell which step is reached."""
    _around(ObjectUpload, "send_rest", lambda *_, **__: (None, Step.PARTS_SENT), ending)
    _around(ObjectUpload, "complete", lambda *_, **__: (None, Step.COMPLETED), ending)
    _around(EffectProducer, "_send", lambda *_, **__: (None, Step.TOLD), ending)
    _around(
        IntentCommitter, "release", lambda *_, **__: (Step.RELEASE_WANTED, Step.RELEASED), ending
    )

    def of_commit(*_: Any, told: Any = (), **__: Any) -> tuple[Step, Step]:
        if told:
            return Step.PASS_WANTED, Step.PASSED
        return Step.SEAL_WANTED, Step.SEALED

    _around(IntentCommitter, "commit", of_commit, ending)


def _around(
    owner: type, name: str, steps: Callable[..., tuple[Step | None, Step]], ending: Ending
) -> None:
    """Makes a coroutine function tell of its begin and its end."""
    act = getattr(owner, name)

    async def watched(*arguments: Any, **named: Any) -> Any:
        before, after = steps(*arguments, **named)
        if before:
            ending.reach(before)  # type: ignore[arg-type]
        found = await act(*arguments, **named)
        ending.reach(after)  # type: ignore[arg-type]
        return found

    setattr(owner, name, watched)


def begin_with_end(
    feed: ObjectGround, step: Step, nth: int = 1, number: signal.Signals = signal.SIGKILL
) -> Process:
    """Starts a loader of the feed that ends or stops at a step."""
    told = feed.config.with_name(f"steps-{len(feed._processes)}")
    told.write_bytes(pickle.dumps((feed.appliance, feed.assignment())))
    process = Process(
        f"loader-until-{step}",
        [sys.executable, "-m", "tests.live.object_steps", str(told), step, str(nth), number.name],
        told.with_suffix(".log"),
        environment={"PYTHONPATH": str(CHECKOUT)},
    )
    feed._processes.append(process)
    return process


def main(told: Path, step: Step, nth: int, number: signal.Signals) -> None:
    # Written by begin_with_end only, so that unpickling is safe.
    appliance, assignment = pickle.loads(told.read_bytes())
    log_to_stderr()
    watch(Ending(step, nth, number))  # type: ignore[arg-type]
    asyncio.run(load(appliance, assignment))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Step(sys.argv[2]), int(sys.argv[3]), signal.Signals[sys.argv[4]])
