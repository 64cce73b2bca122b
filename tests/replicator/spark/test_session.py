"""Claims about when Spark has ended."""

from types import SimpleNamespace

import pytest

from replicator.spark.session import Session, SparkGone


def refuses():
    raise ConnectionRefusedError("py4j")


class Bare(Session):
    """Session without Spark: its JVM has ended, or answers whether Spark has stopped."""

    def __init__(self, *, exit_code=None, is_stopped=lambda: False):
        self._jvm = SimpleNamespace(is_alive=exit_code is None)
        self._slots_at_most = 0
        spark = SimpleNamespace(isStopped=is_stopped, statusStore=refuses)
        self.context = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: spark))


@pytest.mark.parametrize(
    "ended",
    [Bare(exit_code=137), Bare(is_stopped=lambda: True), Bare(is_stopped=refuses)],
    ids=["no JVM", "the JVM outlives Spark", "the JVM answers nothing"],
)
def test_a_spark_that_runs_no_job_any_more_has_ended(ended):
    """A cluster's master removes an application whose executors fail again and again: every epoch
    would fail for ever, in a daemon that nobody starts again."""
    assert ended.has_ended()
    with pytest.raises(SparkGone, match="^Spark has ended by itself: .* Start again.$"):
        ended.count_slots()


def test_a_spark_that_answers_has_not_ended_whatever_fails():
    assert not Bare().has_ended()
    with pytest.raises(ConnectionRefusedError):
        Bare().count_slots()
