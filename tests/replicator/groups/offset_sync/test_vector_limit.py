"""A vector that no broker takes is left out, which is logged once for each group."""

import logging

from replicator.groups.offset_sync.vector_limit import VectorLimit
from replicator.groups.planning.failover_plan import Case, Move

LARGE = {f"region-{number}": 10**12 for number in range(300)}


def move(vector: dict[str, int]) -> Move:
    return Move(topic="trades", partition=3, case=Case.MOVES, committed=7, resume=5, vector=vector)


def test_a_vector_within_the_limit_stays():
    assert VectorLimit().applied("orders", move({"west": 4})) == move({"west": 4})


def test_a_vector_too_large_for_a_broker_is_left_out_and_logged_once_a_group(caplog):
    limit = VectorLimit()
    with caplog.at_level(logging.WARNING):
        for group in ("orders", "orders", "bills"):
            assert limit.applied(group, move(LARGE)) == move({})
    assert [line.split()[:3] for line in caplog.messages] == [
        ["event=vector-too-large", "group", "'orders'"],
        ["event=vector-too-large", "group", "'bills'"],
    ]
