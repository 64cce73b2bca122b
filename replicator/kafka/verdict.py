"""What an error code of Kafka means for a carrier. Three answers: try again, start over, stop."""

from __future__ import annotations

from enum import Enum


class Verdict(Enum):
    """What the one who got an error code does next."""

    FINE = "fine"
    AGAIN = "again"
    """The cluster is busy with itself (leader or coordinator moving, replicas behind): the same
    bytes once more, in the same order."""
    FENCED = "fenced"
    """Somebody took over the writer. It never writes again."""
    START_OVER = "start over"
    """The broker forgot the writer: fence oneself, acquire anew from the ledger."""
    FORBIDDEN = "forbidden"
    """A right is missing: the route stops until an operator grants it."""
    POISON = "poison"
    """The broker will never take these bytes: this partition stops, the others go on."""
    REFUSED = "refused"
    """Anything else: nothing is known to help; stop and show the code."""


_AGAIN = frozenset({3, 5, 6, 7, 8, 9, 13, 14, 15, 16, 19, 20, 51, 56, 72, 74, 75, 78})
_FENCED = frozenset({47, 90})
_START_OVER = frozenset({45, 48, 49, 59})
_FORBIDDEN = frozenset({29, 30, 31, 53})
_POISON = frozenset({2, 10, 12, 18, 32, 76, 87})


def verdict(code: int) -> Verdict:
    """The verdict on one Kafka error code.

    45 (OUT_OF_ORDER_SEQUENCE_NUMBER) reads START_OVER here; behind an unanswered batch it is only
    the echo of that batch's trouble, which the sender knows and this table does not.
    """
    if code == 0:
        return Verdict.FINE
    if code in _AGAIN:
        return Verdict.AGAIN
    if code in _FENCED:
        return Verdict.FENCED
    if code in _START_OVER:
        return Verdict.START_OVER
    if code in _FORBIDDEN:
        return Verdict.FORBIDDEN
    if code in _POISON:
        return Verdict.POISON
    return Verdict.REFUSED


NAMES = {
    1: "OFFSET_OUT_OF_RANGE",
    2: "CORRUPT_MESSAGE",
    3: "UNKNOWN_TOPIC_OR_PARTITION",
    5: "LEADER_NOT_AVAILABLE",
    6: "NOT_LEADER_OR_FOLLOWER",
    7: "REQUEST_TIMED_OUT",
    10: "MESSAGE_TOO_LARGE",
    12: "OFFSET_METADATA_TOO_LARGE",
    14: "COORDINATOR_LOAD_IN_PROGRESS",
    15: "COORDINATOR_NOT_AVAILABLE",
    16: "NOT_COORDINATOR",
    18: "RECORD_LIST_TOO_LARGE",
    19: "NOT_ENOUGH_REPLICAS",
    20: "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    28: "INVALID_COMMIT_OFFSET_SIZE",
    29: "TOPIC_AUTHORIZATION_FAILED",
    30: "GROUP_AUTHORIZATION_FAILED",
    31: "CLUSTER_AUTHORIZATION_FAILED",
    32: "INVALID_TIMESTAMP",
    45: "OUT_OF_ORDER_SEQUENCE_NUMBER",
    46: "DUPLICATE_SEQUENCE_NUMBER",
    47: "INVALID_PRODUCER_EPOCH",
    48: "INVALID_TXN_STATE",
    49: "INVALID_PRODUCER_ID_MAPPING",
    51: "CONCURRENT_TRANSACTIONS",
    53: "TRANSACTIONAL_ID_AUTHORIZATION_FAILED",
    56: "KAFKA_STORAGE_ERROR",
    59: "UNKNOWN_PRODUCER_ID",
    74: "FENCED_LEADER_EPOCH",
    75: "UNKNOWN_LEADER_EPOCH",
    76: "UNSUPPORTED_COMPRESSION_TYPE",
    78: "OFFSET_NOT_AVAILABLE",
    87: "INVALID_RECORD",
    90: "PRODUCER_FENCED",
    100: "UNKNOWN_TOPIC_ID",
}


def named(code: int) -> str:
    """The protocol's name of a code, for people."""
    return NAMES.get(code, f"error {code}")
