"""The pass publishes and logs, whatever is away; tests/live/test_activity.py has real servers."""

from __future__ import annotations

import logging
import threading

import pytest

from replicator.groups.membership.out_of_place import OutOfPlace
from replicator.groups.membership.primary_region import PrimaryRegion
from replicator.groups.offset_sync.activity_pass import ActivityPass
from replicator.groups.offset_sync.passes import PassFailed
from replicator.kafka.admin.admin_error import AdminUnreachable
from replicator.runtime.store_errors import StoreUnreachable


class Groups:
    """Aggregate that may be away."""

    name = "west aggregate"

    def __init__(self) -> None:
        self.answer: dict[str, bool] | None = {}

    def members(self) -> dict[str, bool]:
        if self.answer is None:
            raise AdminUnreachable(self.name, "no answer")
        return self.answer


class Store:
    """Redis that may be away."""

    def __init__(self, name: str) -> None:
        self.name = f"Redis at {name}"
        self.is_away = False
        self.published: dict[str, frozenset[str]] = {}
        self.gate = threading.Event()
        self.gate.set()

    def publish(self, region: str, groups: frozenset[str], now_ms: int) -> None:
        self.gate.wait(30)
        self._reach()
        self.published[region] = groups

    def active(self, now_ms: int) -> dict[str, frozenset[str]]:
        self._reach()
        return self.published

    def _reach(self) -> None:
        if self.is_away:
            raise StoreUnreachable(f"{self.name}: away")


class Records:
    def all(self) -> dict[str, PrimaryRegion]:
        return {"orders": PrimaryRegion("orders", "west", 1, 1, "ann@ops", "why")}


class Stage:
    """Pass of west, between stand-ins."""

    def __init__(self) -> None:
        self.groups = Groups()
        self.west, self.east = Store("west"), Store("east")
        stores = {"west": self.west, "east": self.east}
        self.passing = ActivityPass("west", self.groups, Records(), stores, lambda: 1)

    def run(self, times: int = 1) -> None:
        for _ in range(times):
            self.passing.once()

    def fail(self, times: int, because: str) -> None:
        for _ in range(times):
            with pytest.raises(PassFailed, match=because):
                self.passing.once()


@pytest.fixture
def stage(caplog) -> Stage:
    caplog.set_level(logging.INFO)
    return Stage()


def events(caplog) -> list[str]:
    return [record.getMessage().split()[0].removeprefix("event=") for record in caplog.records]


def test_groups_with_members_are_published_to_every_region_without_sluices_own(stage):
    stage.groups.answer = {"orders": True, "idle": False, "sluice.west.east.0": True}
    stage.run()
    for store in (stage.west, stage.east):
        assert store.published == {"west": frozenset({"orders"})}


def test_a_group_that_is_active_twice_is_logged_when_that_begins_and_ends(stage, caplog):
    stage.groups.answer = {"orders": True}
    stage.west.published["east"] = frozenset({"orders"})
    stage.run(4)
    assert events(caplog) == ["group-active-twice"]
    assert stage.passing.out_of_place == {"orders": OutOfPlace("orders", "west", ("east", "west"))}
    stage.groups.answer = {"orders": False}
    stage.run(3)
    assert events(caplog) == ["group-active-twice", "group-out-of-place"]
    stage.west.published["east"] = frozenset()
    stage.run(3)
    assert events(caplog) == ["group-active-twice", "group-out-of-place", "group-in-place"]
    assert stage.passing.out_of_place == {}


def test_a_group_seen_out_of_place_only_once_has_just_moved(stage, caplog):
    stage.west.published["east"] = frozenset({"orders"})
    stage.run()
    stage.west.published["east"] = frozenset()
    stage.run(2)
    stage.west.published["east"] = frozenset({"orders"})
    stage.run()
    assert events(caplog) == []
    assert stage.passing.out_of_place == {}


def test_the_log_names_a_region_that_no_longer_publishes(stage, caplog):
    stage.west.published["east"] = frozenset({"orders"})
    stage.run(2)
    del stage.west.published["east"]
    stage.run()
    assert events(caplog) == ["group-out-of-place", "group-in-place"]
    assert "east published nothing lately" in caplog.text


def test_while_the_own_aggregate_is_away_nothing_is_published_and_the_others_are_read(
    stage, caplog
):
    stage.groups.answer = None
    stage.west.published["east"] = frozenset({"orders"})
    stage.fail(3, "west aggregate: no answer")
    assert "west" not in stage.east.published
    assert events(caplog) == ["group-out-of-place"]


def test_a_redis_that_is_away_is_named_and_the_others_are_written(stage):
    stage.groups.answer = {"orders": True}
    stage.east.is_away = True
    stage.fail(3, "Redis at east: away")
    assert stage.west.published == {"west": frozenset({"orders"})}
    stage.east.is_away = False
    stage.run()
    assert stage.east.published == {"west": frozenset({"orders"})}


def test_a_redis_that_does_not_answer_holds_up_no_other(stage):
    stage.groups.answer = {"orders": True}
    stage.east.gate.clear()
    running = threading.Thread(target=stage.run)
    running.start()
    try:
        while not stage.west.published:
            running.join(0.01)
        assert running.is_alive()
    finally:
        stage.east.gate.set()
        running.join(30)
    assert stage.east.published


def test_while_the_own_redis_is_away_no_group_is_known_to_be_out_of_place(stage, caplog):
    stage.west.published["east"] = frozenset({"orders"})
    stage.run(2)
    stage.west.is_away = True
    stage.fail(2, "^Redis at west: away$")
    assert stage.passing.out_of_place is None
    stage.west.is_away = False
    stage.run()
    assert set(stage.passing.out_of_place or {}) == {"orders"}
    assert events(caplog) == ["group-out-of-place"]
