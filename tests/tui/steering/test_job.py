"""Job: its state in words, and the way out where its result is not known."""

from dataclasses import replace

import pytest

from tui.orders.exit_code import MEANINGS, ExitCode
from tui.steering.job import LOST_TEXT, Job, JobState

APPLY = ("failover", "apply", "--config", "/a.toml", "p1", "--confirm", "west:east")
LOOK = ("failover", "verify", "p1", "--config", "/a.toml")


def job(exit_code: int | None, state: JobState = JobState.ENDED) -> Job:
    return Job(job_id="a", words=APPLY, started_at=0.0, state=state, exit_code=exit_code)


@pytest.mark.parametrize("code", ExitCode)
def test_an_exit_code_has_the_meaning_that_the_help_says(code) -> None:
    assert job(code).meaning == MEANINGS[code]
    assert job(code).is_known is (code is not ExitCode.RESULT_UNKNOWN)


def test_an_unknown_result_has_a_way_out() -> None:
    assert job(7).way_out == LOOK
    assert job(5).way_out == ()


def test_a_command_that_failed_half_way_has_a_way_out() -> None:
    failed = job(ExitCode.FAILED)
    assert failed.is_known and failed.way_out == LOOK
    look = replace(failed, words=("failover", "verify", "p1"))
    assert look.way_out == ()


def test_a_running_job_is_not_known_and_needs_no_way_out_yet() -> None:
    running = job(None, JobState.RUNNING)
    assert (running.meaning, running.is_known, running.way_out) == ("running", False, ())


def test_a_lost_job_has_a_way_out() -> None:
    lost = job(None, JobState.LOST)
    assert (lost.meaning, lost.is_known, lost.way_out) == (LOST_TEXT, False, LOOK)


def test_a_signal_leaves_the_result_unknown() -> None:
    killed = job(128 + 9)
    assert killed.meaning.startswith("not known: SIGKILL ended it")
    assert killed.way_out == LOOK
    assert "signal 99" in job(128 + 99).meaning


def test_a_code_without_a_meaning_is_named() -> None:
    assert "42" in job(42).meaning
