"""The examples of docs/resume.md, run as printed there, do what the page says."""

from __future__ import annotations

import re
import sqlite3
from pathlib import Path

import pytest

from tests.live.mirrored import Mirrored, record

PAGE = (Path(__file__).parents[2] / "docs" / "resume.md").read_text()
SHORT, STORING = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)


class Enough(Exception):
    """Ends an example whose loop has no end."""


@pytest.fixture
def mirrored(regional, aggregate, redis, tmp_path, monkeypatch) -> Mirrored:
    made = Mirrored({"west": regional, "east": aggregate}, redis.url)
    tables = [
        f'[regions.{name}]\nregional.bootstrap = ["127.0.0.1:{port}"]\n'
        f'aggregate.bootstrap = ["{cluster.bootstrap}"]\nredis = "{redis.url}"\n'
        for port, (name, cluster) in enumerate(made.aggregates.items(), start=1)
    ]
    (tmp_path / "appliance.toml").write_text("\n".join(tables))
    monkeypatch.chdir(tmp_path)
    return made


def run(example: str, mirrored: Mirrored, count: int) -> list:
    """Runs an example until `count` messages are handled; interrupts it at the next one."""
    handled = []

    def handle(message) -> None:
        if len(handled) == count:
            raise Enough
        handled.append(record(message))

    example = example.replace("flights", mirrored.topic).replace("billing", mirrored.group)
    with pytest.raises(Enough):
        exec(compile(example, "docs/resume.md", "exec"), {"handle": handle})
    return handled


def test_the_example_handles_unread_records_and_continues_where_it_was(mirrored):
    mirrored.land("east", *[(region, at) for at in range(5) for region in ("west", "east")])
    mirrored.publish("east")
    mirrored.commit("east", 0, {"west": 3, "east": 1})
    unread = [("east", at) for at in (1, 2)] + [
        each for at in (3, 4) for each in (("west", at), ("east", at))
    ]
    assert len(SHORT.strip().splitlines()) <= 10
    assert run(SHORT, mirrored, 3) == unread[:3]
    # Messages that were handled before the error are committed; the one that raised it is not.
    assert run(SHORT, mirrored, 2) == unread[3:5]


def test_the_storing_example_goes_on_by_its_database_whatever_was_committed(mirrored):
    mirrored.land("east", *[(region, at) for at in range(5) for region in ("west", "east")])
    mirrored.publish("east")
    everything = [(region, at) for at in range(5) for region in ("west", "east")]
    assert run(STORING, mirrored, 4) == everything[:4]
    mirrored.commit("east", 9, {"west": 5, "east": 4})
    assert run(STORING, mirrored, 3) == everything[4:7]
    mirrored.commit("east", 0, {})
    assert run(STORING, mirrored, 2) == everything[7:9]
    with sqlite3.connect(f"{mirrored.group}.sqlite") as database:
        rows = list(database.execute("SELECT topic, partition, vector FROM vectors"))
    database.close()
    assert rows == [(mirrored.topic, 0, '{"west": 5, "east": 4}')]
