"""Claims about the order in which a driver starts, and about its end."""

from __future__ import annotations

import os
from contextlib import contextmanager

import pytest

from replicator.config.topology import Appliance, KafkaCluster, Region
from replicator.spark.authentication import NoSecret
from replicator.spark.driver_start import run_driver
from replicator.spark.slots import SlotsUnlimited


class Broken(Exception):
    """The daemon cannot be made."""


@pytest.fixture(autouse=True)
def umask():
    """A driver changes the mask of its process."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def appliance(tmp_path):
    regional, aggregate = (KafkaCluster(bootstrap=(f"127.0.0.1:{port}",)) for port in (1, 2))
    east = Region(name="east", regional=regional, aggregate=aggregate, redis="redis://127.0.0.1:3")
    folders = {"state_dir": tmp_path / "state", "receipts_dir": tmp_path / "receipts"}
    return Appliance(regions={"east": east}, replicator=folders)


class Start:
    """A start whose steps are noted."""

    def __init__(self, appliance):
        self._appliance = appliance
        self.steps = []

    @contextmanager
    def launch(self, master, folder, conf, imports):
        assert folder.is_dir()
        self.steps.append(("launched", master, *imports))
        try:
            yield "the JVM"
        finally:
            self.steps.append("ended")

    def make(self, run):
        self.steps.append(f"made upon {run.jvm}")
        raise Broken

    def run(self, master="local[*,8]", conf=None):
        run_driver(
            self._appliance,
            "east",
            "replicate",
            self.make,
            doing="mirrors",
            imports=["json"],
            master=master,
            conf=conf or {},
            launch=self.launch,
        )


def test_the_jvm_is_launched_before_the_daemon_is_imported_and_ends_with_it(appliance):
    start = Start(appliance)
    with pytest.raises(Broken):
        start.run()
    assert start.steps == [("launched", "local[*,8]", "json"), "made upon the JVM", "ended"]


@pytest.mark.parametrize(
    ("master", "conf", "error"),
    [
        ("spark://spark.east:7077", {}, NoSecret),
        ("local[*,8]", {"spark.dynamicAllocation.enabled": "true"}, SlotsUnlimited),
    ],
)
def test_no_jvm_is_launched_for_settings_that_are_wrong(appliance, master, conf, error):
    start = Start(appliance)
    with pytest.raises(error):
        start.run(master, conf)
    assert start.steps == []
