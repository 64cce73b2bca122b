"""Spark's JVM: its launch, its archive of classes, its secret, its end, its session."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from types import SimpleNamespace
from unittest.mock import patch

import pyspark
import pytest

from replicator.spark.archive_options import archive_options
from replicator.spark.authentication import (
    ENABLED,
    SECRET,
    SECRET_FILE,
    NoSecret,
    split_secret,
)
from replicator.spark.jvm import LOG4J, Jvm
from replicator.spark.session import Session, SparkGone
from replicator.spark.slots import QUERY_TASKS

# -- Spark's JVM: what it is launched with, how it ends, and its log lines.
#
# A process that sleeps stands in for the JVM.

PATIENCE_SECONDS = 10.0
MASTER = "local-cluster[1,1,512]"


class Launching:
    """Launch of a JVM that waits until it may go on."""

    def __init__(self):
        self.may_go_on = threading.Event()
        self.settings = {}
        self.process = None

    def __call__(self, settings, options):
        assert self.may_go_on.wait(PATIENCE_SECONDS)
        self.settings = dict(settings.getAll())
        self.process = subprocess.Popen(["sleep", "60"], **options)
        return SimpleNamespace(proc=self.process)


@pytest.fixture
def launching():
    with patch.dict(os.environ):
        launching = Launching()
        yield launching
    if launching.process:
        launching.process.wait(PATIENCE_SECONDS)


def test_a_jvm_starts_beside_the_work_of_its_caller(launching, tmp_path):
    with Jvm(MASTER, tmp_path, {}, launch=launching) as jvm:
        assert not jvm.is_alive
        launching.may_go_on.set()
        assert jvm.gateway().proc is launching.process
        assert jvm.is_alive


def test_a_jvm_ends_with_its_block(launching, tmp_path):
    launching.may_go_on.set()
    with Jvm(MASTER, tmp_path, {}, launch=launching) as jvm:
        jvm.gateway()
    assert launching.process.wait(PATIENCE_SECONDS) == -signal.SIGKILL
    assert not jvm.is_alive


def test_a_jvm_that_cannot_be_launched_tells_its_caller(tmp_path):
    def fails(settings, options):
        raise FileNotFoundError("java")

    with patch.dict(os.environ), Jvm(MASTER, tmp_path, {}, launch=fails) as jvm:
        with pytest.raises(FileNotFoundError, match="java"):
            jvm.gateway()
        assert not jvm.is_alive


def test_the_secret_is_set_only_once_the_command_line_is_made(launching, tmp_path):
    launching.may_go_on.set()
    secret = "spark.authenticate.secret"
    with Jvm(MASTER, tmp_path, {secret: "hidden"}, launch=launching) as jvm:
        assert dict(jvm.settings().getAll())[secret] == "hidden"
    assert launching.settings["spark.master"] == MASTER
    assert secret not in launching.settings


def test_workers_of_all_hosts_are_told_what_to_import(launching, tmp_path):
    launching.may_go_on.set()
    with Jvm(MASTER, tmp_path, {}, ["json", "csv"], launch=launching) as jvm:
        jvm.gateway()
        assert os.environ["SLUICE_WORKER_IMPORTS"] == "json csv"
    assert launching.settings["spark.executorEnv.SLUICE_WORKER_IMPORTS"] == "json csv"
    assert launching.settings["spark.python.daemon.module"] == "replicator.spark.worker_starter"


def test_a_jvm_compiles_twice_only_where_rows_of_streaming_queries_pass_through_it(
    launching, tmp_path
):
    launching.may_go_on.set()
    names = "spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"
    with Jvm(MASTER, tmp_path, {}, launch=launching) as jvm:
        jvm.gateway()
    launching.process.wait(PATIENCE_SECONDS)
    assert all("-XX:TieredStopAtLevel=1" in launching.settings[name] for name in names)
    with Jvm(MASTER, tmp_path, {QUERY_TASKS: "2"}, launch=launching) as jvm:
        jvm.gateway()
    assert not any("TieredStopAtLevel" in launching.settings[name] for name in names)
    assert all("-XX:+UseSerialGC" in launching.settings[name] for name in names)


@pytest.mark.parametrize(
    "character", ["\n", "\r", "\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2028"]
)
def test_spark_shows_a_space_for_a_character_that_moves_a_cursor_or_hides(character):
    found = re.search(r"%replace\{%m\}\{(.*?)\}\{ \}", LOG4J)
    assert found
    assert re.sub(found[1], " ", f"a{character}b") == "a b"


# -- Archive of Spark's classes: it is used if it is there, and never needed.


def test_without_an_archive_the_jvm_is_asked_for_nothing(tmp_path):
    assert archive_options(str(tmp_path)) == ""


def test_an_archive_is_used_unless_it_does_not_fit(tmp_path):
    archive = tmp_path / "share" / "sluice" / f"spark-{pyspark.__version__}.jsa"
    archive.parent.mkdir(parents=True)
    archive.touch()
    options = archive_options(str(tmp_path))
    assert f"-XX:SharedArchiveFile={archive}" in options
    # auto: an archive that does not fit is ignored. With on, the JVM would refuse to start.
    assert "-Xshare:auto" in options


# -- Spark's shared secret: where it comes from, and that no command line has it.

CLUSTER = "spark://spark.east:7077"


@pytest.mark.parametrize("master", ["local", "local[2,8]", "local[*]", "yarn", "k8s://api:443"])
def test_where_spark_makes_a_secret_by_itself_none_is_given_to_it(master):
    assert split_secret(master, {ENABLED: "true"}) == ({ENABLED: "true"}, {})


def test_a_cluster_of_the_drivers_own_gets_a_new_secret_each_time():
    _, first = split_secret("local-cluster[2,1,1024]", {})
    _, second = split_secret("local-cluster[2,1,1024]", {})
    assert len(first[SECRET]) >= 32
    assert first != second


def test_a_standalone_cluster_without_a_secret_is_refused_with_the_settings_that_mend_it():
    with pytest.raises(NoSecret, match=f"{SECRET_FILE}.*{ENABLED}=false"):
        split_secret(CLUSTER, {ENABLED: "true"})


def test_a_standalone_cluster_without_authentication_needs_the_operators_word():
    assert split_secret(CLUSTER, {ENABLED: "false"}) == ({ENABLED: "false"}, {})


def test_a_secret_is_read_from_its_file_without_the_newline_of_an_editor(tmp_path):
    file = tmp_path / "secret"
    file.write_text("quiet\n")
    assert split_secret(CLUSTER, {SECRET_FILE: str(file)}) == ({}, {SECRET: "quiet"})


def test_a_secret_among_the_settings_is_kept_off_the_command_line():
    shown, kept = split_secret(CLUSTER, {ENABLED: "true", SECRET: "quiet"})
    assert (shown, kept) == ({ENABLED: "true"}, {SECRET: "quiet"})


@pytest.mark.parametrize("content", ["", " \n"])
def test_an_empty_file_is_no_secret(tmp_path, content):
    file = tmp_path / "secret"
    file.write_text(content)
    with pytest.raises(NoSecret, match="is empty"):
        split_secret(CLUSTER, {SECRET_FILE: str(file)})


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(NoSecret, match=r"secret\.file.*no-such-file"):
        split_secret(CLUSTER, {SECRET_FILE: str(tmp_path / "no-such-file")})


# -- Session: it tells when Spark has ended.


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
