"""Claims about work that is kept up within its epoch."""

import logging
import time

import pytest

from replicator.spark import kept_up as module
from replicator.spark.driver_command import TermSuperseded
from replicator.spark.kept_up import PAUSE_SECONDS, kept_up

FAILED = "event=carrier-failed %s again_in_seconds=%.1f"


class Work:
    """Raises its errors in turn, then returns."""

    def __init__(self, *errors):
        self.errors, self.begun = list(errors), 0

    async def __call__(self):
        self.begun += 1
        if self.errors:
            raise self.errors.pop(0)
        return "receipts"


async def kept(work, seconds=60.0, note_failure=lambda text: None):
    return await kept_up(
        work,
        who="carrier=3",
        failed=FAILED,
        deadline=time.monotonic() + seconds,
        note_failure=note_failure,
    )


async def test_work_that_fails_begins_again_and_its_result_is_returned(caplog):
    work = Work(OSError("broken"))
    assert await kept(work) == "receipts"
    assert work.begun == 2
    (record,) = caplog.records
    assert record.getMessage() == "event=carrier-failed carrier=3 again_in_seconds=0.5"
    assert record.exc_info


async def test_no_work_begins_after_the_deadline(caplog):
    work = Work(*[OSError("broken")] * 9)
    assert await kept(work, seconds=PAUSE_SECONDS[0] / 2) is None
    assert work.begun == 1


async def test_work_of_an_older_term_does_not_begin_again(caplog, monkeypatch):
    monkeypatch.setattr(module, "OTHER_TERM_SECONDS", 0.01)
    caplog.set_level(logging.INFO)
    work = Work(TermSuperseded("term 4"))
    assert await kept(work) is None
    assert work.begun == 1
    assert caplog.messages == ["event=other-term carrier=3: term 4"]


async def test_what_ends_the_process_is_no_failure():
    with pytest.raises(SystemExit):
        await kept(Work(SystemExit(1)))


async def test_each_failure_is_told_in_words():
    told: list[str] = []
    await kept(Work(OSError("broken"), ValueError()), note_failure=told.append)
    assert told == ["unexpected OSError: broken", "unexpected ValueError: no message"]
