"""A region's copies, by Redis; nothing is connected yet."""

from __future__ import annotations

from replicator.config.topology import Appliance
from replicator.groups.offset_sync.own_copies import own_copies

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
