"""Clusters of the lab: what is written before a node starts."""

from __future__ import annotations

from pathlib import Path

from deploy.lab.kafka import FIRST_METADATA, format_directory


def test_a_new_directory_names_its_cluster_and_node_and_an_old_one_stays_as_it_is(tmp_path: Path):
    written = tmp_path / "written"
    written.write_bytes(b"records of features")
    data = tmp_path / "data"
    format_directory(data, 2, "cluster", written)
    assert (data / FIRST_METADATA.name).read_bytes() == b"records of features"
    properties = (data / "meta.properties").read_text()
    *known, directory = properties.splitlines()
    assert known == ["version=1", "cluster.id=cluster", "node.id=2"]
    assert len(directory.removeprefix("directory.id=")) == 22
    format_directory(data, 2, "another", written)
    assert (data / "meta.properties").read_text() == properties
