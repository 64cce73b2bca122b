"""Claims about Spark's JVM: what it is launched with, how it ends, and its log lines.

A process that sleeps stands in for the JVM.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import threading
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from replicator.spark.jvm import LOG4J, Jvm

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


@pytest.mark.parametrize(
    "character", ["\n", "\r", "\x00", "\x1b", "\x7f", "\x9b", "\u202e", "\u2028"]
)
def test_spark_shows_a_space_for_a_character_that_moves_a_cursor_or_hides(character):
    found = re.search(r"%replace\{%m\}\{(.*?)\}\{ \}", LOG4J)
    assert found
    assert re.sub(found[1], " ", f"a{character}b") == "a b"
