"""Each daemon of a region has a metrics port of its own, or none."""

from pathlib import Path

import pytest

from replicator.config.metrics_ports import PORTS, shared_ports
from replicator.config.mistakes import ConfigMistakes
from replicator.config.topology import load
from tests.replicator.config.test_topology import SOUND

SHARED = "9464 is metrics.port as well: each daemon needs a port of its own"


def ports(*numbers: object) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for (table, key), port in zip(PORTS, numbers, strict=False):
        found.setdefault(table, {})[key] = port
    return found


@pytest.mark.parametrize("numbers", [(0, 0, 0), (9464, 0, 0), (1, 2, 3), (0, 1, 2)])
def test_different_ports_and_no_port_are_accepted(numbers):
    assert list(shared_ports(ports(*numbers))) == []


def test_each_shared_port_is_named():
    assert dict(shared_ports(ports(9464, 9464, 9464))) == {
        "offsets.metrics_port": SHARED,
        "balance.metrics_port": SHARED,
    }
    assert [key for key, _ in shared_ports(ports(1, 7, 7))] == ["balance.metrics_port"]


def test_the_two_daemons_of_the_aggregator_have_a_port_each():
    assert dict(shared_ports(ports(9464, 0, 0, 9464, 7))) == {"aggregator.metrics_port": SHARED}
    found = list(shared_ports(ports(0, 0, 0, 7, 7)))
    assert [key for key, _ in found] == ["aggregator.verifier_metrics_port"]


def test_a_value_that_is_no_port_is_not_compared():
    assert list(shared_ports(ports("9464", None, "9464"))) == []
    assert list(shared_ports({"metrics": 5, "balance": []})) == []


@pytest.mark.parametrize("other", ["", "[replicator]\nwindow = 99\n"])
def test_a_file_with_a_shared_port_is_refused_whatever_else_is_wrong(tmp_path: Path, other: str):
    path = tmp_path / "appliance.toml"
    path.write_text(f"{SOUND}[metrics]\nport = 9464\n[offsets]\nmetrics_port = 9464\n{other}")
    with pytest.raises(ConfigMistakes) as caught:
        load(path)
    found = {mistake.path: mistake.text for mistake in caught.value.mistakes}
    assert found["offsets.metrics_port"] == SHARED
    assert len(found) == (2 if other else 1)
