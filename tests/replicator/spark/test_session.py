"""Claims about Spark's own log lines, which are made by a pattern of its logging library, and about
when Spark has ended."""

import re
from types import SimpleNamespace

import pytest

from replicator.spark.session import LOG4J, Session, SparkGone


def refuses():
    raise ConnectionRefusedError("py4j")


class Bare(Session):
    """Session without Spark: its JVM has ended, or answers whether Spark has stopped."""

    def __init__(self, *, exit_code=None, is_stopped=lambda: False):
        self._jvm = SimpleNamespace(poll=lambda: exit_code)
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


@pytest.mark.parametrize(
    "character", ["\n", "\r", "\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2028"]
)
def test_spark_shows_a_space_for_a_character_that_moves_a_cursor_or_hides(character):
    found = re.search(r"%replace\{%m\}\{(.*?)\}\{ \}", LOG4J)
    assert found
    assert re.sub(found[1], " ", f"a{character}b") == "a b"
