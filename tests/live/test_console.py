"""Console in a real terminal over real servers: keys, sizes, and every way in which it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest

from balancer.topic_partition import TopicPartition
from deploy.lab.daemons import SLUICE
from deploy.lab.kafka import KafkaCluster
from deploy.lab.redis import RedisServer
from deploy.lab.traffic import records, send
from deploy.lab.wait import until
from replicator.mirror.ledger.entry import encode
from tests.live.conftest import RedisMaker, TopicMaker
from tests.live.terminal import Terminal
from tests.live.test_status import ENTRY, committed, configuration

PARTITIONS = 40
END_SECONDS = 2.0
SLACK_SECONDS = 1.0
"""Time that a loaded machine may take beside."""
DELAY_SECONDS = "0.3"

Console = Callable[..., Terminal]


@pytest.fixture
def topic(regional: KafkaCluster, aggregate: KafkaCluster, make_topic: TopicMaker) -> str:
    """A topic of which partition 0 is mirrored up to offset 4; nothing is known of the others."""
    name = make_topic(regional, aggregate, partitions=PARTITIONS, name="orders")
    send(regional, name, records(PARTITIONS * 10, partitions=PARTITIONS))
    committed(aggregate, TopicPartition(name, 0), *encode(ENTRY))
    return name


@pytest.fixture
def config(
    topic: str,
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    redis: RedisServer,
    tmp_path: Path,
) -> str:
    return configuration(tmp_path, (regional.bootstrap, aggregate.bootstrap), redis.url, topic)


@pytest.fixture
def console() -> Iterator[Console]:
    """`console("--config", file)`: a console in a terminal of 80x24; `before=(...)` runs it."""
    with ExitStack() as stack:

        def start(*arguments: str, before: tuple[str, ...] = (), **size: int) -> Terminal:
            command = [*before, str(SLUICE), "console", *arguments]
            return stack.enter_context(Terminal(command, **size))

        yield start


def is_whole(screen: str, rows: int) -> bool:
    """Returns True when the first and the last lines of the console are where they belong."""
    lines = screen.removesuffix("\n").split("\n")
    return (
        len(lines) == rows
        and lines[0].startswith(" sluice")
        and lines[-2].startswith(" 1 overview 2 routes 3 groups")
    )


def is_gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_keys_lead_from_the_overview_to_a_partition_and_back_at_every_size(
    console: Console, config: str, topic: str
) -> None:
    terminal = console("--config", config)
    terminal.shows("READING", "west>west", "ALERTS")
    terminal.press("2")
    terminal.shows(topic)
    terminal.press("Enter", "Enter")
    assert is_whole(terminal.shows(topic, "40 partitions"), 24)
    terminal.press("End")
    terminal.shows("why")
    for columns, rows in ((140, 45), (100, 30), (80, 24)):
        terminal.resize(columns, rows)
        assert until(lambda size=rows: is_whole(terminal.screen(), size), 10), terminal.screen()
        terminal.shows("40 partitions")
    terminal.press("?")
    terminal.shows("KEYS")
    terminal.press("Escape")
    terminal.shows("1 overview")
    # Escape and the next key arrive together.
    terminal.press("Escape", "1")
    terminal.shows("ALERTS")
    terminal.press("q")
    assert terminal.exit_code() == 0


def test_what_is_known_stays_while_a_server_is_away_and_keys_still_work(
    console: Console,
    topic: str,
    regional: KafkaCluster,
    aggregate: KafkaCluster,
    make_redis: RedisMaker,
    tmp_path: Path,
) -> None:
    redis = make_redis()
    bootstraps = regional.bootstrap, aggregate.bootstrap
    terminal = console("--config", configuration(tmp_path, bootstraps, redis.url, topic))
    terminal.shows("west>west", "ok")
    redis.kill()
    terminal.shows("silent")
    terminal.press("2")
    terminal.shows(topic)
    terminal.press("Enter", "Enter")
    terminal.shows("40 partitions")
    redis.start()
    redis.wait_ready()
    terminal.press("1", "Space")
    terminal.shows("ALERTS")
    assert until(lambda: "silent" not in terminal.screen(), 30), terminal.screen()


@pytest.mark.core
def test_an_order_is_given_by_keys_and_its_job_is_shown_with_its_end(
    console: Console, config: str
) -> None:
    terminal = console("--config", config, "--steer")
    terminal.shows("STEERING", "ALERTS")
    terminal.press("5")
    terminal.shows("BY COUNT", "H hold")
    terminal.press("H")
    terminal.shows("sluice balance pause", "Type west>west to run it")
    terminal.write("load test")
    terminal.press("Enter", "Enter")
    terminal.write("west>west")
    terminal.press("Enter")
    terminal.shows("ended: done", "RESULT", "load test")
    terminal.press("Escape")
    terminal.shows("HELD", "R resume")
    terminal.press("b")
    terminal.shows("they go on without the console", "ended       0  sluice balance pause")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=str)
def test_a_signal_ends_it_within_two_seconds_and_the_terminal_is_as_before(
    console: Console, config: str, number: signal.Signals
) -> None:
    terminal = console("--config", config)
    terminal.shows("west>west")
    began = time.monotonic()
    os.kill(terminal.pid, number)
    assert until(lambda: is_gone(terminal.pid), 10)
    assert time.monotonic() - began < END_SECONDS + SLACK_SECONDS
    assert terminal.exit_code() == 128 + number
    screen = terminal.screen()
    assert " echo " in screen
    assert "-icanon" not in screen
    flags = ("alternate_on", "mouse_any_flag", "keypad_flag", "cursor_flag")
    assert [terminal.about(flag) for flag in flags] == ["0", "0", "0", "1"]


def test_it_ends_with_its_terminal(console: Console, config: str) -> None:
    terminal = console("--config", config)
    terminal.shows("west>west")
    terminal.kill_server()
    began = time.monotonic()
    assert until(lambda: is_gone(terminal.pid), 10)
    assert time.monotonic() - began < END_SECONDS + SLACK_SECONDS


def test_a_mistake_of_the_configuration_is_told_after_the_terminal_is_back(
    console: Console, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("[regions]\nwest = 3\neast = 4\n")
    terminal = console("--config", str(broken))
    assert terminal.exit_code() == 2
    assert "2 mistakes" in terminal.screen()
    assert terminal.about("alternate_on") == "0"


@pytest.mark.parametrize("has_stdin", [False, True])
def test_without_a_terminal_it_ends_with_2_and_writes_no_escape(
    config: str, has_stdin: bool
) -> None:
    master, slave = os.openpty()
    try:
        done = subprocess.run(
            [SLUICE, "console", "--config", config],
            stdin=slave if has_stdin else subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(master)
        os.close(slave)
    assert done.returncode == 2
    assert done.stdout == b""
    assert b"no terminal" in done.stderr
    assert b"\x1b" not in done.stderr


def test_no_key_is_lost_on_a_line_with_300_ms_each_way(
    console: Console, config: str, topic: str
) -> None:
    relay = (sys.executable, "-m", "tests.live.slow_line", DELAY_SECONDS)
    terminal = console("--config", config, before=relay)
    terminal.shows("1 overview")
    terminal.press("2")
    terminal.shows(topic)
    terminal.press("Enter", "Enter")
    terminal.shows("40 partitions")
    text = "the-quick-brown-fox-jumps-over-the-lazy-dog"
    terminal.press("/")
    for letter in text:
        terminal.write(letter)
    terminal.shows(text)
    terminal.press("Enter", "1", "2", "3", "4", "5", "6")
    terminal.shows("LEVEL  STATE")
    terminal.press("q")
    assert terminal.exit_code() == 0
