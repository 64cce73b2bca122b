"""Kafka's error codes by name, and one verdict for each: what its receiver does next."""

from __future__ import annotations

from enum import Enum, IntEnum


class Code(IntEnum):
    """Error codes that the code depends on, or that operators may read."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    KAFKA_STORAGE_ERROR = 56
    UNKNOWN_PRODUCER_ID = 59
    LISTENER_NOT_FOUND = 72
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    OFFSET_NOT_AVAILABLE = 78
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    UNKNOWN_TOPIC_ID = 100


class Verdict(Enum):
    """Next step of the receiver of an error code."""

    FINE = "fine"
    AGAIN = "again"
    """The cluster is busy with itself (leader or coordinator moving, replicas lagging). Send the
    same bytes once more, in the same order."""
    FENCED = "fenced"
    """Another client took over the transactional id. This writer never writes again."""
    START_OVER = "start over"
    """The broker forgot the writer. Open its id again and acquire anew from the ledger."""
    FORBIDDEN = "forbidden"
    """A right is missing. The route stops until an operator grants it."""
    POISON = "poison"
    """The broker will never take these bytes. The batch is packed anew until the refused
    records are known; other partitions continue (decision 0019)."""
    REFUSED = "refused"
    """Any other code. No remedy is known: stop and show the code."""


VERDICTS: dict[int, Verdict] = {
    Code.NONE: Verdict.FINE,
    Code.UNKNOWN_TOPIC_OR_PARTITION: Verdict.AGAIN,
    Code.LEADER_NOT_AVAILABLE: Verdict.AGAIN,
    Code.NOT_LEADER_OR_FOLLOWER: Verdict.AGAIN,
    Code.REQUEST_TIMED_OUT: Verdict.AGAIN,
    Code.BROKER_NOT_AVAILABLE: Verdict.AGAIN,
    Code.REPLICA_NOT_AVAILABLE: Verdict.AGAIN,
    Code.NETWORK_EXCEPTION: Verdict.AGAIN,
    Code.COORDINATOR_LOAD_IN_PROGRESS: Verdict.AGAIN,
    Code.COORDINATOR_NOT_AVAILABLE: Verdict.AGAIN,
    Code.NOT_COORDINATOR: Verdict.AGAIN,
    Code.NOT_ENOUGH_REPLICAS: Verdict.AGAIN,
    Code.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Verdict.AGAIN,
    Code.CONCURRENT_TRANSACTIONS: Verdict.AGAIN,
    Code.KAFKA_STORAGE_ERROR: Verdict.AGAIN,
    Code.LISTENER_NOT_FOUND: Verdict.AGAIN,
    Code.FENCED_LEADER_EPOCH: Verdict.AGAIN,
    Code.UNKNOWN_LEADER_EPOCH: Verdict.AGAIN,
    Code.OFFSET_NOT_AVAILABLE: Verdict.AGAIN,
    Code.THROTTLING_QUOTA_EXCEEDED: Verdict.AGAIN,
    Code.UNKNOWN_TOPIC_ID: Verdict.AGAIN,
    Code.INVALID_PRODUCER_EPOCH: Verdict.FENCED,
    Code.PRODUCER_FENCED: Verdict.FENCED,
    Code.OUT_OF_ORDER_SEQUENCE_NUMBER: Verdict.START_OVER,
    Code.INVALID_TXN_STATE: Verdict.START_OVER,
    Code.INVALID_PRODUCER_ID_MAPPING: Verdict.START_OVER,
    Code.UNKNOWN_PRODUCER_ID: Verdict.START_OVER,
    Code.TOPIC_AUTHORIZATION_FAILED: Verdict.FORBIDDEN,
    Code.GROUP_AUTHORIZATION_FAILED: Verdict.FORBIDDEN,
    Code.CLUSTER_AUTHORIZATION_FAILED: Verdict.FORBIDDEN,
    Code.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: Verdict.FORBIDDEN,
    Code.CORRUPT_MESSAGE: Verdict.POISON,
    Code.MESSAGE_TOO_LARGE: Verdict.POISON,
    Code.OFFSET_METADATA_TOO_LARGE: Verdict.POISON,
    Code.RECORD_LIST_TOO_LARGE: Verdict.POISON,
    Code.INVALID_TIMESTAMP: Verdict.POISON,
    Code.UNSUPPORTED_COMPRESSION_TYPE: Verdict.POISON,
    Code.INVALID_RECORD: Verdict.POISON,
}
"""All other codes are REFUSED."""


NOTHING_APPENDED: dict[int, str] = {
    Code.CORRUPT_MESSAGE: "the batch's length and CRC are checked before all else",
    Code.MESSAGE_TOO_LARGE: "the batch's size is checked before all else",
    Code.RECORD_LIST_TOO_LARGE: "the segment's size is compared before the append",
    Code.INVALID_TIMESTAMP: "records are validated before the append",
    Code.UNSUPPORTED_COMPRESSION_TYPE: "records are validated before the append",
    Code.INVALID_RECORD: "records are validated before the append",
    Code.OUT_OF_ORDER_SEQUENCE_NUMBER: "the producer's state is checked before the append",
    Code.NOT_ENOUGH_REPLICAS: "min.insync.replicas is checked before the append; too few replicas"
    " after it are NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    Code.UNKNOWN_TOPIC_ID: "topic ids are resolved before the append, and not again",
}
"""Error codes of Produce which prove that the request appended nothing, with the reason.

Read in Kafka 4.3 (ReplicaManager, Partition, UnifiedLog, LogValidator). All other errors leave it
open: with acks=all the broker appends first and waits for the replicas (DelayedProduce). Four codes
are answered although the new leader may have the batch: NOT_LEADER_OR_FOLLOWER after a leader
change meanwhile, KAFKA_STORAGE_ERROR after a failed log directory, UNKNOWN_TOPIC_OR_PARTITION after
a replica was moved away, and REQUEST_TIMED_OUT after an expired wait. A failed write may have
reached the disk in part, and UNKNOWN_SERVER_ERROR may be thrown at any step.
"""


BY_CONFIGS = frozenset({Code.INVALID_RECORD, Code.INVALID_TIMESTAMP})
"""Codes by which configs of a topic refuse records for what they are, whatever their size."""


def may_have_appended(code: int) -> bool:
    """Returns True when a Produce answered with this error may still have appended its batch."""
    return code != Code.NONE and code not in NOTHING_APPENDED


def verdict(code: int) -> Verdict:
    """Returns the verdict on one Kafka error code.

    OUT_OF_ORDER_SEQUENCE_NUMBER is START_OVER here. After an unanswered batch it only follows from
    that batch's trouble, which the sender knows and this table does not.
    """
    return VERDICTS.get(code, Verdict.REFUSED)


def named(code: int) -> str:
    """Returns the protocol's name of a code, for people."""
    try:
        return Code(code).name
    except ValueError:
        return f"error {code}"
