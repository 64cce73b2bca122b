"""Tags are set once their object is complete; what a store answers decides whether again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

import pytest

from aggregator.intents.table_range import Manifest
from aggregator.loader import object_tags
from aggregator.loader.counters import TAG_FAILURES
from aggregator.loader.loader_counts import LoaderCounts
from aggregator.loader.object_tags import PASSING, ObjectTags
from aggregator.s3.answers import Answer, StoreProblem
from aggregator.s3.object_store import ObjectStore

OWN = {"team": "air"}


@dataclass
class Store:
    """Store that gives these answers, one for each request, and then does what is asked."""

    answers: list[Answer] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    tags: dict[str, Mapping[str, str]] = field(default_factory=dict)
    renewed: int = 0

    def tag(self, key: str, tags: Mapping[str, str]) -> None:
        self.asked.append(key)
        if self.answers:
            raise StoreProblem(self.answers.pop(0), "PutObjectTagging")
        self.tags[key] = tags

    def renew(self) -> None:
        self.renewed += 1


def tags_of(store: Store, own: Mapping[str, str] | None = OWN) -> ObjectTags:
    return ObjectTags(cast("ObjectStore", store), "feed=lake", own, LoaderCounts())


def manifest(begin: int = 0, end: int = 10, **more: int) -> Manifest:
    fields = {"records": end - begin, "size_bytes": 1, "crc32c": 2} | more
    return Manifest(begin=begin, end=end, **fields)


async def run_until(tags: ObjectTags, is_reached: Callable[[], bool]) -> None:
    """Sets tags until something is so."""
    running = asyncio.create_task(tags.run())
    for _ in range(5000):
        if is_reached():
            break
        await asyncio.sleep(0.001)
    running.cancel()
    assert is_reached()


def failures(tags: ObjectTags) -> float:
    found = tags.loader_counts.totals("lake", "east aggregate").counts.get(TAG_FAILURES.name, {})
    return sum(found.values())


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(object_tags, "PAUSE_SECONDS", (0.001, 0.002))


async def test_tags_tell_the_first_and_last_offset_and_the_records_in_the_object():
    store = Store()
    tags = tags_of(store)
    tags.add("k", manifest(180, 270, left_out=3))
    await run_until(tags, lambda: bool(store.tags))
    assert store.tags == {
        "k": {"team": "air", "startOffset": "180", "endOffset": "269", "recordCount": "87"}
    }


@pytest.mark.parametrize("answer", sorted(PASSING, key=str))
async def test_what_may_be_done_later_is_tried_again_and_said_once(answer, caplog):
    store = Store([answer] * 3)
    tags = tags_of(store)
    tags.add("first", manifest())
    tags.add("second", manifest())
    await run_until(tags, lambda: "second" in store.tags)
    assert store.asked == ["first"] * 4 + ["second"]
    assert [*store.tags] == ["first", "second"]
    assert (failures(tags), caplog.text.count("event=tags-fail")) == (3, 1)
    # Other credentials may have the right.
    assert store.renewed == (3 if answer is Answer.DENIED else 0)


@pytest.mark.parametrize("answer", [Answer.REFUSED, Answer.ABSENT])
async def test_what_never_can_be_done_is_given_up_and_the_next_object_gets_its_tags(answer, caplog):
    store = Store([answer])
    tags = tags_of(store)
    tags.add("gone", manifest())
    tags.add("next", manifest())
    await run_until(tags, lambda: "next" in store.tags)
    assert (store.asked, [*store.tags]) == (["gone", "next"], ["next"])
    assert (failures(tags), caplog.text.count("event=tags-fail")) == (1, 1)


async def test_a_store_that_has_no_tags_is_asked_once(caplog):
    store = Store([Answer.UNSUPPORTED])
    tags = tags_of(store)
    for key in ("first", "second"):
        tags.add(key, manifest())
    await run_until(tags, lambda: "event=tags-off" in caplog.text)
    tags.add("third", manifest())
    await tags.finish()
    assert (store.asked, failures(tags)) == (["first"], 1)
    assert caplog.text.count("event=tags-off") == 1


async def test_a_feed_without_tags_asks_for_none():
    store = Store()
    tags = tags_of(store, own=None)
    tags.add("k", manifest())
    await tags.finish()
    assert store.asked == []


async def test_of_too_many_objects_the_oldest_get_no_tags(monkeypatch):
    monkeypatch.setattr(object_tags, "WAITING_MAX", 2)
    store = Store()
    tags = tags_of(store)
    for key in ("first", "second", "third"):
        tags.add(key, manifest())
    await run_until(tags, lambda: "third" in store.tags)
    assert [*store.tags] == ["second", "third"]


async def test_at_the_end_tags_are_tried_once_as_long_as_that_works():
    store = Store()
    tags = tags_of(store)
    for key in ("first", "second", "third"):
        tags.add(key, manifest())
    await tags.finish()
    assert len(store.tags) == 3
    store.answers = [Answer.BUSY]
    tags.add("fourth", manifest())
    tags.add("fifth", manifest())
    await tags.finish()
    assert store.asked[3:] == ["fourth"]


async def test_an_object_that_makes_room_while_it_is_tagged_takes_no_other_with_it(monkeypatch):
    monkeypatch.setattr(object_tags, "WAITING_MAX", 1)
    loop = asyncio.get_running_loop()

    class Slow(Store):
        def tag(self, key: str, tags: Mapping[str, str]) -> None:
            if key == "a":
                added = asyncio.run_coroutine_threadsafe(add("b"), loop)
                added.result(5)
            super().tag(key, tags)

    async def add(key: str) -> None:
        tags.add(key, manifest())

    store = Slow()
    tags = tags_of(store)
    tags.add("a", manifest())
    await run_until(tags, lambda: len(store.tags) == 2)
    assert list(store.tags) == ["a", "b"]
