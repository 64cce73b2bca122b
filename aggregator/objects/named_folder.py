"""Named folder: the encoded partition that an operator means, as listings show it. Pure.

It is named by itself, below its prefix and topic, or by the key of an object in it. Behind `#` may
stand the version of its records.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from aggregator.objects.hive_path import columns_of, encoded
from aggregator.objects.object_name import is_file
from aggregator.objects.schema_versions import NONE, SEPARATOR
from aggregator.objects.time_folders import without_time
from replicator.config.cluster_name import ClusterName
from replicator.config.object_feed import ObjectFeed

_DIRECTIVES = {"%Y": r"\d{4}", "%m": r"\d\d", "%d": r"\d\d", "%H": r"\d\d", "%M": r"\d\d"}


class UnknownFolder(ValueError):
    """Name that no folder of the feed can have."""


class NamedFolder(NamedTuple):
    """Folder of a feed.

    Args:
        cluster: None if no prefix names it.
        topic: None if it is not named.
        name: as loaders have it.
    """

    cluster: ClusterName | None
    topic: str | None
    name: str


def named_folder(feed: ObjectFeed, text: str) -> NamedFolder:
    """Returns the folder of a name. Raises UnknownFolder, with the names that there are."""
    path, separator, version = text.strip("/").partition(SEPARATOR)
    cluster, path = _below_prefix(feed, path)
    parts = path.rstrip("/").split("/")
    topic = parts.pop(0) if "=" not in parts[0] else None
    if parts and is_file(parts[-1]):
        parts.pop()
    name = "/".join(parts)
    if feed.partition_by != "time":
        name = _encoded(name)
    if not name or not _is_made(feed, name):
        slash = "; write a slash within a value as %2F" if feed.partition_by == "field" else ""
        raise UnknownFolder(
            f"feed {feed.name} has no folder {text}; its folders are {shape(feed)}{slash}"
        )
    if not separator:
        return NamedFolder(cluster, topic, name)
    if not feed.keeps_apart:
        raise UnknownFolder(
            f"feed {feed.name} has no versions of folders (compatibility, format): leave out "
            f"{SEPARATOR}{version}"
        )
    if version.isascii() and version.isdecimal():
        version = str(int(version))
    elif version != NONE:
        raise UnknownFolder(
            f"{version!r} is no version of {name}: name the id of a schema, or {NONE} for records "
            "without one"
        )
    return NamedFolder(cluster, topic, f"{name}{SEPARATOR}{version}")


def _below_prefix(feed: ObjectFeed, path: str) -> tuple[ClusterName | None, str]:
    """Returns the cluster that the prefix of a path names, and the rest of the path."""
    for cluster in feed.clusters:
        prefix = feed.prefix_of(cluster)
        if prefix and path.startswith(f"{prefix}/"):
            return cluster if "{cluster}" in feed.prefix else None, path[len(prefix) + 1 :]
    return None, path


def _encoded(folder: str) -> str:
    """Returns a folder as it is written into keys; empty for what is none."""
    try:
        return encoded(columns_of(folder))
    except ValueError:
        return ""


def shape(feed: ObjectFeed) -> str:
    """Returns how the folders of a feed are named, such as `year=%Y/month=%m`."""
    match feed.partition_by:
        case "time":
            return feed.folders
        case "field":
            return "/".join(f"{name}=..." for name in feed.fields)
    return "partition=0, partition=1 and so on"


def _is_made(feed: ObjectFeed, name: str) -> bool:
    """Returns True if records may be in a folder of this name."""
    match feed.partition_by:
        case "time":
            pattern = re.escape(feed.folders)
            for directive, digits in _DIRECTIVES.items():
                pattern = pattern.replace(directive, digits)
            is_time = re.fullmatch(pattern, name) is not None
            return is_time or name == without_time(feed.folders)
        case "field":
            return [column for column, _ in columns_of(name)] == list(feed.fields)
    return re.fullmatch(r"partition=(0|[1-9]\d*)", name) is not None
