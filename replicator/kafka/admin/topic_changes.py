"""Changes of a topic that an admin client can apply: create it, add partitions, alter configs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

RECORDS_PER_REQUEST = 5000
"""Records that a request may make the controller write. It refuses a whole request of more than
10 000 (QuorumController.MAX_RECORDS_PER_USER_OP): one for each topic, partition and config."""


@dataclass(frozen=True, slots=True, order=True)
class Create:
    """Action: create the topic on the target."""

    topic: str
    partitions: int
    configs: tuple[tuple[str, str], ...]
    replication_factor: int
    """Replication factor; -1 is the target cluster's own default."""


@dataclass(frozen=True, slots=True, order=True)
class Grow:
    """Action: give the target's topic more partitions."""

    topic: str
    to: int


@dataclass(frozen=True, slots=True, order=True)
class Alter:
    """Action: change these configs of the target's topic, and no others."""

    topic: str
    configs: tuple[tuple[str, str], ...]


Action = Create | Grow | Alter


def requests(actions: Iterable[Action]) -> Iterator[list[Action]]:
    """Yields the actions in requests that a controller takes: each of one kind, creations first."""
    in_order = sorted(actions, key=lambda action: (_KINDS.index(type(action)), action.topic))
    request: list[Action] = []
    for action in in_order:
        is_other = bool(request) and type(request[0]) is not type(action)
        if is_other or sum(map(_records, [*request, action])) > RECORDS_PER_REQUEST:
            if request:
                yield request
            request = []
        request.append(action)
    if request:
        yield request


_KINDS = [Create, Grow, Alter]


def _records(action: Action) -> int:
    match action:
        case Create(_, partitions, configs):
            return 1 + partitions + len(configs)
        case Grow(_, to):
            return min(to, RECORDS_PER_REQUEST)
        case Alter(_, configs):
            return len(configs)
