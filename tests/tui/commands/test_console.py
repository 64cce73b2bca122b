"""`sluice console` and `sluice record`: options, no terminal, what a recording says."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from tests.addresses import refusing
from tests.tui.recording.recordings import recorded
from tests.tui.recording.samples import full
from tui.commands.exit_codes import ExitCode
from tui.program import COMMANDS, run
from tui.recording.reader import Reader
from tui.recording.recording_file import NoRecording

REFERENCE = str(Path(__file__).parents[3] / "deploy" / "appliance.toml")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "either --config or --replay"),
        (["--replay", "a.rec", "--steer"], "a replay changes nothing"),
        (["--replay", "a.rec", "--record", "b.rec"], "a replay is a recording already"),
    ],
)
def test_options_that_do_not_go_together_are_wrong_usage(options, message, capsys, monkeypatch):
    monkeypatch.delenv("SLUICE_CONFIG", raising=False)
    assert run(["console", *options]) == ExitCode.USAGE
    assert message in capsys.readouterr().err


def test_without_a_terminal_it_ends_with_2_and_writes_no_escape():
    done = subprocess.run(
        [sys.executable, "-m", "tui.program", "console", "--config", REFERENCE],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
    )
    assert done.returncode == ExitCode.USAGE
    assert done.stdout == b""
    assert b"stdin is no terminal" in done.stderr
    assert b"\x1b" not in done.stderr


def test_a_bad_file_of_keys_is_wrong_usage(tmp_path: Path, capsys):
    keys = tmp_path / "keys.toml"
    keys.write_text('freez = "F"')
    arguments = ["console", "--config", REFERENCE, "--keys", str(keys)]
    assert run(arguments) == ExitCode.USAGE
    assert "unknown action 'freez'" in capsys.readouterr().err


def test_other_commands_import_no_textual():
    code = (
        "import sys, json, importlib\n"
        "for module in json.loads(sys.argv[1]): importlib.import_module(module)\n"
        "print('textual' in sys.modules)"
    )
    modules = sorted({module.split(":")[0] for module in COMMANDS.values()})
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(modules)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "False\n"


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


@pytest.fixture
def configuration(tmp_path: Path) -> Path:
    """Returns a configuration with passwords, whose servers all refuse."""
    for secret in SECRETS:
        (tmp_path / secret.decode().removeprefix("secret-of-")).write_bytes(secret)
    addresses = ("redis", "regional", "aggregate")
    text = "".join(
        REGION.format(name=name, login=LOGIN, **{each: refusing() for each in addresses})
        for name in ("east", "west")
    )
    path = tmp_path / "appliance.toml"
    path.write_text(text + FEED.format(clickhouse=refusing()))
    return path


def started(*arguments: str | Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tui.program", "record", *map(str, arguments)],
        stderr=subprocess.PIPE,
        text=True,
    )


def contents(path: Path) -> bytes:
    """Returns all that a recording holds, unpacked."""
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT content FROM frames").fetchall()
    connection.close()
    return path.read_bytes() + b"".join(zlib.decompress(content) for (content,) in rows)


def test_no_password_is_in_a_recording_or_in_its_log(configuration: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.rec"
    process = started(path, "--config", configuration, "--for", "4s")
    log = process.communicate(timeout=60)[1]
    assert process.returncode == ExitCode.DONE, log
    found = contents(path)
    for secret in SECRETS:
        assert secret not in found
        assert secret.decode() not in log
    # Every server is asked: each has its problem in the recording.
    for server in (b"east Redis", b"west Redis", b"east regional", b"west aggregate", b"orders"):
        assert server in found, server


def test_a_signal_ends_it_in_order_with_a_line_for_each_event(
    configuration: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.rec"
    process = started(path, "--config", configuration)
    try:
        deadline = time.monotonic() + 60
        while not is_readable(path):
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.05)
        began = time.monotonic()
        os.kill(process.pid, signal.SIGTERM)
        log = process.communicate(timeout=60)[1]
        assert time.monotonic() - began < 5
    finally:
        process.kill()
    assert process.returncode == ExitCode.DONE
    events = [line.split("event=")[1].split()[0] for line in log.splitlines() if "event=" in line]
    assert events == ["recording", "stopping", "stopped"]
    with Reader(path) as reader:
        assert reader.snapshot(reader.last()).problems


def is_readable(path: Path) -> bool:
    try:
        Reader(path).close()
    except NoRecording:
        return False
    return True


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
