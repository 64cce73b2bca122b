"""Rebuild of offset maps: reads them back into a region's Redis from the runs topics."""

from __future__ import annotations

from replicator.config.topology import Region, Route
from replicator.mirror.offset_map.read_back import Progress, ReadBack, read_back
from replicator.mirror.offset_map.runs_topic import RunsTopicMissing


def rebuild_maps(
    region: Region, route: Route, progress: Progress, timeout_seconds: float
) -> ReadBack:
    """Reads the maps of one route back. A missing runs topic becomes the result's trouble.

    Raises whatever else `read_back` raises.
    """
    try:
        return read_back(region, route, progress, timeout_seconds=timeout_seconds)
    except RunsTopicMissing as missing:
        # The runs topics of the other routes may exist.
        return ReadBack(route.name, 0, 0, 0, str(missing))
