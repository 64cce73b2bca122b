"""Metrics of `sluice offsets`, and the copies that they show."""

from __future__ import annotations

import time
from types import SimpleNamespace

from prometheus_client import CollectorRegistry, generate_latest

from replicator.config.topology import Appliance
from replicator.groups.membership.out_of_place import OutOfPlace
from replicator.groups.offset_sync.metrics import Ages, CopiesCollector, OutOfPlaceCollector
from replicator.groups.offset_sync.own_copies import Copy, own_copies
from replicator.groups.offset_sync.passes import Pass, PassLoop
from replicator.runtime.store_errors import StoreUnreachable

# -- Metrics show ages while they are known.


class Store:
    """Store of an age that the test sets."""

    name = "Redis"

    def __init__(self, age_ms: int | Exception | None) -> None:
        self.age_ms = age_ms

    def age(self, now_ms: int) -> int | None:
        if isinstance(self.age_ms, Exception):
            raise self.age_ms
        return self.age_ms


def copy(of: str, age_ms: int | Exception | None, *, is_copying: bool = True) -> Copy:
    return Copy("east", of, Store(age_ms), SimpleNamespace(is_copying=is_copying))


def served(copies: list[Copy], ages: list[Ages] = (), passes: list[PassLoop] = ()) -> list[str]:
    registry = CollectorRegistry()
    registry.register(CopiesCollector(copies, ages, passes))
    return generate_latest(registry).decode().splitlines()


def ages_told(lines: list[str]) -> dict[str, float]:
    told = [it.rpartition(" ") for it in lines if it.startswith("sluice_copies_age_seconds{")]
    return {labels: float(seconds) for labels, _, seconds in told}


def test_an_age_that_is_not_known_has_no_sample():
    copies = [copy("commits", 4000), copy("runs", None)]
    ages = Ages(copies)
    assert ages_told(served(copies, [ages])) == {}
    ages.look()
    ((labels, seconds),) = ages_told(served(copies, [ages])).items()
    assert 'of="commits"' in labels and 'region="east"' in labels
    assert 4 <= seconds < 60


def test_an_age_goes_on_between_two_looks_and_ends_when_redis_is_away():
    (told,) = copies = [copy("commits", 0)]
    ages = Ages(copies)
    ages.look()
    now_ms = time.time_ns() // 1_000_000
    ((_, seconds),) = ages.seconds(now_ms + 5000)
    assert 5 <= seconds < 6
    told.store.age_ms = StoreUnreachable("away")
    ages.look()
    assert list(ages.seconds(now_ms)) == []


def test_copiers_are_up_while_they_copy():
    lines = served([copy("commits", 0), copy("runs", 0, is_copying=False)])
    assert 'sluice_copier_up{of="commits",region="east"} 1.0' in lines
    assert 'sluice_copier_up{of="runs",region="east"} 0.0' in lines


def test_a_pass_has_a_time_once_it_was_done():
    loop = PassLoop(Pass("sync", 1.0, lambda: loop.stop()))
    assert not [line for line in served([], [], [loop]) if "timestamp_seconds{" in line]
    loop.run()
    assert [line for line in served([], [], [loop]) if 'timestamp_seconds{name="sync"}' in line]


def test_a_group_has_a_sample_for_each_region_where_it_should_have_no_members():
    activity = SimpleNamespace(out_of_place={})

    def told() -> list[str]:
        registry = CollectorRegistry()
        registry.register(OutOfPlaceCollector(activity))
        lines = generate_latest(registry).decode().splitlines()
        return [line for line in lines if not line.startswith("#")]

    assert told() == []
    found = OutOfPlace("orders", "west", ("east", "north", "west"))
    activity.out_of_place = {"orders": found}
    assert told() == [
        f'sluice_group_out_of_place{{group="orders",region="{region}"}} 1.0'
        for region in ("east", "north")
    ]
    activity.out_of_place = None
    assert told() == []


# -- A region's copies, by Redis; nothing is connected yet.

NAMES = ("east", "north", "west")


def appliance(routes: list[str]) -> Appliance:
    regions = {
        name: {
            "redis": f"redis://{name}.example:6379",
            "regional": {"bootstrap": [f"regional.{name}.example:9092"]},
            "aggregate": {"bootstrap": [f"aggregate.{name}.example:9092"]},
        }
        for name in NAMES
    }
    return Appliance.model_validate({"regions": regions, "routes": routes})


def test_commits_and_runs_go_to_every_other_region_and_decisions_to_all():
    routes = ["west>east", "east>east", "east>west", "north>west"]
    copies = own_copies(appliance(routes), "east")
    assert [(copy.region, copy.of) for copy in copies] == [
        ("east", "primary regions"),
        *(
            (peer, of)
            for peer in ("north", "west")
            for of in ("primary regions", "commits", "runs west>east", "runs east>east")
        ),
    ]
    for copy in copies:
        assert copy.copier.name.startswith("east aggregate: ")
        assert f"redis://{copy.region}.example" in copy.copier.name


def test_a_region_without_routes_copies_its_commits_all_the_same():
    copies = own_copies(appliance(["west>east"]), "north")
    assert {copy.of for copy in copies} == {"primary regions", "commits"}
