"""Alerts, their acknowledgements, events and findings in real Redis servers."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest
from redis import Redis

from aggregator.verifier.anomaly_board import AnomalyBoard
from replicator.audit.kept_audits import KeptAudits
from replicator.config.topology import Appliance, Route, load
from replicator.notices.acknowledgement import Acknowledgement
from replicator.notices.acknowledgement_store import KEPT_MAX, AcknowledgementStore
from replicator.notices.event import Event
from replicator.notices.notice_store import NoticeStore
from tests.replicator.audit.test_kept_audit import AUDIT
from tests.tui.commands.test_replicate import CONFIG
from tests.tui.facts.test_anomaly import ROW, anomaly
from tui.commands.exit_codes import ExitCode
from tui.facts.watch.audit_questions import audit_fields, audit_questions
from tui.facts.watch.event_questions import EVENTS_MAX, event_fields, event_questions
from tui.facts.watch.look import look
from tui.program import run

pytestmark = pytest.mark.stores

KEY = "parked/west>east/orders/"
SEEN = Acknowledgement(key=KEY, who="ann@ops", why="looking", at_ms=1_800_000_000_000)
TIMEOUT_SECONDS = 5.0


@pytest.fixture
def config(tmp_path, redis) -> str:
    """Configuration of two regions in one Redis, and clusters that refuse connections."""
    file = tmp_path / "appliance.toml"
    file.write_text(CONFIG.replace("redis://127.0.0.1:1", redis.url))
    return str(file)


@pytest.fixture
def appliance(config) -> Appliance:
    return load(config)


@pytest.fixture
def store(redis):
    with AcknowledgementStore(redis.url, "east") as found:
        yield found


def listed(config, capsys):
    """Returns the alerts of the region east by key, as `sluice alerts list` shows them."""
    arguments = ["alerts", "list", "--config", config, "--timeout", "2", "-o", "json"]
    assert run(arguments) == ExitCode.UNREACHABLE
    return {each["key"]: each for each in json.loads(capsys.readouterr().out)["alerts"]}


def test_the_newest_acknowledgement_of_an_alert_is_kept(store):
    assert store.read() == []
    store.put(SEEN)
    silence = replace(SEEN, why="move", at_ms=SEEN.at_ms + 1, until_ms=SEEN.at_ms + 60_000)
    store.put(silence)
    other = replace(SEEN, key="copies/east", at_ms=SEEN.at_ms + 2)
    store.put(other)
    assert store.read() == [silence, other]
    assert store.withdraw(KEY)
    assert not store.withdraw(KEY)
    assert store.read() == [other]


def test_what_is_over_and_the_oldest_of_too_many_are_dropped(store):
    store.put(replace(SEEN, until_ms=SEEN.at_ms + 1))
    late = SEEN.at_ms + 2
    store.put(replace(SEEN, key="copies/east", at_ms=late))
    assert [each.key for each in store.read()] == ["copies/east"]
    for number in range(KEPT_MAX):
        store.put(replace(SEEN, key=f"copies/{number}", at_ms=late + 1 + number))
    found = store.read()
    assert len(found) == KEPT_MAX
    assert found[0].key == "copies/0"


def test_what_another_client_wrote_is_left_out(store, redis, caplog):
    store.put(SEEN)
    with Redis.from_url(redis.url) as client:
        client.hset("sluice:alerts:east", "copies/east", "no json")
    assert store.read() == [SEEN]
    assert store.read() == [SEEN]
    assert caplog.text.count("event=notice-unreadable") == 1


@pytest.mark.core
def test_an_operator_acknowledges_silences_and_reopens_an_alert(config, redis, capsys):
    key = "server/west regional"
    assert listed(config, capsys)[key]["state"] == "open"
    base = ["--config", config, "--region", "west"]
    assert run(["alerts", "acknowledge", key, *base, "--reason", "power cut"]) == ExitCode.DONE
    capsys.readouterr()
    alert = listed(config, capsys)[key]
    assert (alert["state"], alert["why"]) == ("acknowledged", "power cut")
    silence = ["alerts", "silence", key, *base, "--reason", "power cut", "--for", "2h"]
    assert run(silence) == ExitCode.DONE
    capsys.readouterr()
    assert listed(config, capsys)[key]["state"] == "silenced"
    assert run(["alerts", "reopen", key, *base]) == ExitCode.DONE
    assert capsys.readouterr().out == f"open again: {key}\n"
    assert run(["alerts", "reopen", key, *base]) == ExitCode.DONE
    assert "nothing was changed" in capsys.readouterr().out
    assert listed(config, capsys)[key]["state"] == "open"
    with NoticeStore(redis.url, "west") as notices:
        found = [(event.kind, event.result) for _, event in notices.events(10)]
    assert found == [("alert", "acknowledged"), ("alert", "silenced"), ("alert", "reopened")]


def test_a_flush_opens_alerts_again(config, redis, capsys):
    key = "server/east aggregate"
    base = ["--config", config, "--region", "east", "--reason", "known"]
    assert run(["alerts", "acknowledge", key, *base]) == ExitCode.DONE
    capsys.readouterr()
    assert listed(config, capsys)[key]["state"] == "acknowledged"
    with Redis.from_url(redis.url) as client:
        client.flushall()
    assert listed(config, capsys)[key]["state"] == "open"


def test_findings_of_all_regions_are_read(appliance, redis):
    with KeptAudits(redis.url) as kept:
        kept.keep(Route("west", "east"), AUDIT)
    with AnomalyBoard(redis.url, "west") as board:
        board.add([ROW])
    with AcknowledgementStore(redis.url, "east") as store:
        store.put(SEEN)
    questions = audit_questions(appliance, TIMEOUT_SECONDS)
    answers = look(questions, TIMEOUT_SECONDS)
    assert audit_fields(appliance)(answers, time.time()) == {
        "audits": (AUDIT,),
        "anomalies": (anomaly(),),
        "acknowledgements": (SEEN,),
    }


def test_events_are_followed_from_the_last_known_one(appliance, redis):
    def event(number: int) -> Event:
        return Event(at_ms=number, kind="parked", level="error", who="x", text=str(number))

    questions, build = event_questions(appliance, TIMEOUT_SECONDS), event_fields(appliance)

    def shown():
        found = build(look(questions, TIMEOUT_SECONDS), time.time())["events"]
        return [(each.region, each.text) for each in found]

    with NoticeStore(redis.url, "east") as east, NoticeStore(redis.url, "west") as west:
        east.write(events=[event(1), event(3)])
        west.write(events=[event(2)])
        assert shown() == [("east", "1"), ("west", "2"), ("east", "3")]
        east.write(events=[event(4)])
        assert shown()[-1] == ("east", "4")
        east.write(events=[event(number) for number in range(5, 5 + 2 * EVENTS_MAX)])
        found = [text for region, text in shown() if region == "east"]
        assert len(found) == EVENTS_MAX
        assert found[-1] == str(4 + 2 * EVENTS_MAX)


def test_a_redis_that_is_away_is_a_problem_of_each_question(appliance):
    region = appliance.region("west").model_copy(update={"redis": "redis://127.0.0.1:1"})
    regions = {**appliance.regions, "west": region}
    away = appliance.model_copy(update={"regions": regions})
    questions = [*audit_questions(away, 2.0), *event_questions(away, 2.0)]
    answers = look(questions, 2.0)
    problems = {key.about for key, answer in answers.by_key.items() if answer.problem}
    assert problems == {"anomalies", "acknowledgements", "events"}
    assert all(key.server == "west Redis" for key, it in answers.by_key.items() if it.problem)
