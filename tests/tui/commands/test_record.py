"""`sluice record` without servers: the file, the end, and what is in neither."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.addresses import refusing
from tests.tui.recording.recordings import recorded
from tests.tui.recording.samples import full
from tui.commands.exit_codes import ExitCode
from tui.program import run
from tui.recording.reader import Reader
from tui.recording.recording_file import NoRecording

REFERENCE = str(Path(__file__).parents[3] / "deploy" / "appliance.toml")
SECRETS = b"secret-of-kafka", b"secret-of-redis", b"secret-of-clickhouse"
REGION = """
[regions.{name}]
redis = "redis://{redis}/0"
redis_password_file = "redis"
[regions.{name}.regional]
bootstrap = ["{regional}"]
security = {{ protocol = "sasl_plaintext", {login} }}
[regions.{name}.aggregate]
bootstrap = ["{aggregate}"]
security = {{ protocol = "sasl_plaintext", {login} }}
"""
LOGIN = 'mechanism = "PLAIN", username = "viewer", password_file = "kafka"'
FEED = """
[feeds.orders]
region = "east"
clusters = ["east aggregate"]
[[feeds.orders.shards]]
topics = ["orders"]
database = "ticks"
replicas = ["clickhouse://viewer@{clickhouse}"]
password_file = "clickhouse"
"""


SERVERS = {
    "east Redis", "west Redis", "east regional", "west regional", "east aggregate",
    "west aggregate", "orders shard 0",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Recorded:
    """Recording that a signal has ended."""

    path: Path
    exit_code: int
    log: str
    end_seconds: float


@pytest.fixture(scope="module")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a configuration with passwords, whose servers all refuse."""
    folder = tmp_path_factory.mktemp("appliance")
    for secret in SECRETS:
        (folder / secret.decode().removeprefix("secret-of-")).write_bytes(secret)
    addresses = ("redis", "regional", "aggregate")
    text = "".join(
        REGION.format(name=name, login=LOGIN, **{each: refusing() for each in addresses})
        for name in ("east", "west")
    )
    path = folder / "appliance.toml"
    path.write_text(text + FEED.format(clickhouse=refusing()))
    return path


@pytest.fixture(scope="module")
def recording(configuration: Path) -> Recorded:
    """Returns a recording that was ended once it held the problem of each server."""
    path = configuration.with_name("a.rec")
    words = [sys.executable, "-m", "tui.program", "record", path, "--config", configuration]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while not away(path) >= SERVERS:
            assert time.monotonic() < deadline, away(path)
            assert process.poll() is None
            time.sleep(0.1)
        began = time.monotonic()
        os.kill(process.pid, signal.SIGTERM)
        log = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    return Recorded(path, process.returncode, log, time.monotonic() - began)


def away(path: Path) -> set[str]:
    """Returns the servers whose problem a recording holds so far."""
    try:
        with Reader(path) as reader:
            snapshot = reader.snapshot(reader.last())
    except NoRecording:
        return set()
    return {part.server for part in snapshot.parts if part.problem}


def contents(path: Path) -> bytes:
    """Returns all that a recording holds, unpacked."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT content FROM frames").fetchall()
    connection.close()
    return path.read_bytes() + b"".join(zlib.decompress(content) for (content,) in rows)


def test_no_password_is_in_a_recording_or_in_its_log(recording: Recorded) -> None:
    found = contents(recording.path)
    for secret in SECRETS:
        assert secret not in found
        assert secret.decode() not in recording.log
    # Every server was asked: each has its problem in the recording.
    assert away(recording.path) >= SERVERS


def test_a_signal_ends_it_in_order_with_a_line_for_each_event(recording: Recorded) -> None:
    assert recording.end_seconds < 5
    assert recording.exit_code == ExitCode.DONE, recording.log
    lines = [line for line in recording.log.splitlines() if "event=" in line]
    events = [line.split("event=")[1].split()[0] for line in lines]
    assert events == ["recording", "stopping", "stopped"]


def test_a_file_that_is_no_recording_is_wrong_usage_and_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "notes"
    path.write_text("mine")
    assert run(["record", str(path), "--config", REFERENCE, "--for", "1s"]) == ExitCode.USAGE
    assert capsys.readouterr().err.endswith(f"sluice: {path} is no recording of sluice\n")
    assert path.read_text() == "mine"


def test_a_damaged_recording_is_wrong_usage(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = recorded(tmp_path / "a.rec", [full()])
    path.write_bytes(path.read_bytes()[:-10])
    assert run(["record", str(path), "--config", REFERENCE, "--for", "1s"]) == ExitCode.USAGE
    assert "is damaged" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--for", "soon"], ["--max-mib", "0"], ["--timeout", "0"]])
def test_wrong_options_are_wrong_usage_and_make_no_file(
    tmp_path: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.rec"
    assert run(["record", str(path), "--config", REFERENCE, *options]) == ExitCode.USAGE
    assert options[0] in capsys.readouterr().err
    assert not path.exists()
