"""Insert errors: what to do about a failed insert, decided from its error. Pure.

The same block may be inserted again after every error: ClickHouse recognizes it by its hash or
token while the table's deduplication window reaches back to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from replicator.clickhouse.errors import ClientSetup, code_of, problem, reason


class TooLate(Exception):
    """A block that was not sent, since the time has passed in which nobody else can have sent it.

    The process stood still. Look at the table before the block is sent.
    """


class ErrorClass(StrEnum):
    """Action that follows an insert error."""

    SAME_AGAIN = "same block again"
    """The same block is inserted again after a pause, on any replica."""
    OTHER_REPLICA = "another replica"
    """The same block is inserted on the next replica; after a pause once all were tried."""
    WAIT = "wait"
    """No replica can store the block now: it is inserted again later, with growing pauses."""
    HOLD_TABLE = "hold the table"
    """The table has too many parts: nothing is inserted into it until merges have caught up."""
    REFRESH = "read the schema again"
    """The table has other columns, or is gone: the block is formed again from a new schema."""
    STOP = "stop"
    """Repeating cannot help until an operator acts."""


@dataclass(frozen=True, slots=True)
class InsertProblem:
    """Error of one insert.

    Args:
        code: of ClickHouse; None for errors of the socket.
        text: the reason, and for WAIT, HOLD_TABLE and STOP also the remedy.
        may_be_stored: the block, or a part of it, may be in the table because of this insert.
        leaves_replica: the next attempt had better be at another replica.
    """

    error_class: ErrorClass
    code: int | None
    text: str
    may_be_stored: bool
    leaves_replica: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    """Rule for a code.

    Args:
        is_refusal: the server refuses before it writes, so nothing of the block is stored.
    """

    error_class: ErrorClass
    remedy: str = ""
    is_refusal: bool = False
    leaves_replica: bool = False


_AGAIN = _Rule(ErrorClass.SAME_AGAIN)
_BUSY = _Rule(ErrorClass.SAME_AGAIN, is_refusal=True)
_BROKEN = _Rule(ErrorClass.SAME_AGAIN, leaves_replica=True)
_OTHER = _Rule(ErrorClass.OTHER_REPLICA, leaves_replica=True)
_ZOOKEEPER = _Rule(
    ErrorClass.OTHER_REPLICA, "check that ZooKeeper runs, and answers the replica",
    leaves_replica=True,
)  # fmt: skip
_SCHEMA = _Rule(ErrorClass.REFRESH, is_refusal=True)
_ADMINISTRATOR = _Rule(ErrorClass.STOP, "", is_refusal=True, leaves_replica=True)
_STATEMENT = _Rule(
    ErrorClass.STOP, "the server does not understand the insert: report it with both versions"
)

_EXPRESSION = _Rule(
    ErrorClass.STOP,
    "an expression of the table, or of a view behind it, fails on a row's values: correct the "
    "DEFAULT, MATERIALIZED column or view, so that it takes any value",
)
"""A view may fail once the table has the block, so the block may be stored."""

RULES: Mapping[int, _Rule] = {
    # The state of the block is unknown, or nothing is wrong with the block.
    3: _BROKEN,  # UNEXPECTED_END_OF_FILE
    32: _BROKEN,  # ATTEMPT_TO_READ_AFTER_EOF
    101: _BROKEN,  # UNEXPECTED_PACKET_FROM_CLIENT
    102: _BROKEN,  # UNEXPECTED_PACKET_FROM_SERVER
    107: _AGAIN,  # FILE_DOESNT_EXIST
    159: _AGAIN,  # TIMEOUT_EXCEEDED
    209: _BROKEN,  # SOCKET_TIMEOUT, of the driver like the next one
    210: _BROKEN,  # NETWORK_ERROR
    216: _BUSY,  # QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING: an earlier insert of this block
    286: _BUSY,  # UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
    319: _AGAIN,  # UNKNOWN_STATUS_OF_INSERT
    394: _AGAIN,  # QUERY_WAS_CANCELLED
    425: _AGAIN,  # SYSTEM_ERROR
    # Load and memory.
    201: _Rule(ErrorClass.WAIT, "raise the quota of the user", is_refusal=True),  # QUOTA_EXPIRED
    202: _BUSY,  # TOO_MANY_SIMULTANEOUS_QUERIES
    203: _BUSY,  # NO_FREE_CONNECTION
    241: _AGAIN,  # MEMORY_LIMIT_EXCEEDED
    439: _BUSY,  # CANNOT_SCHEDULE_TASK
    # One replica cannot, others may.
    198: _OTHER,  # DNS_ERROR
    225: _ZOOKEEPER,  # NO_ZOOKEEPER
    236: _OTHER,  # ABORTED: the server shuts down
    242: _ZOOKEEPER,  # TABLE_IS_READ_ONLY: the replica lost ZooKeeper
    243: _Rule(
        ErrorClass.OTHER_REPLICA, "make room on the disk of the replica", leaves_replica=True
    ),  # NOT_ENOUGH_SPACE
    279: _OTHER,  # ALL_CONNECTION_TRIES_FAILED
    289: _OTHER,  # REPLICA_IS_NOT_IN_QUORUM, of reads
    999: _ZOOKEEPER,  # KEEPER_EXCEPTION
    # No replica can.
    285: _Rule(
        ErrorClass.WAIT, "start the other replicas: fewer are live than the quorum"
    ),  # TOO_FEW_LIVE_REPLICAS
    252: _Rule(ErrorClass.HOLD_TABLE, "merges have to catch up", is_refusal=True),  # TOO_MANY_PARTS
    # The table is not as the block was formed for.
    8: _SCHEMA,  # THERE_IS_NO_COLUMN
    10: _SCHEMA,  # NOT_FOUND_COLUMN_IN_BLOCK
    16: _SCHEMA,  # NO_SUCH_COLUMN_IN_TABLE
    20: _SCHEMA,  # NUMBER_OF_COLUMNS_DOESNT_MATCH
    44: _SCHEMA,  # ILLEGAL_COLUMN
    47: _SCHEMA,  # UNKNOWN_IDENTIFIER
    53: _SCHEMA,  # TYPE_MISMATCH
    60: _SCHEMA,  # UNKNOWN_TABLE
    70: _SCHEMA,  # CANNOT_CONVERT_TYPE
    171: _SCHEMA,  # BLOCKS_HAVE_DIFFERENT_STRUCTURE
    218: _SCHEMA,  # TABLE_IS_DROPPED
    349: _SCHEMA,  # CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
    # An operator has to act.
    48: _Rule(ErrorClass.STOP, "the table's engine takes no inserts", is_refusal=True),
    62: _STATEMENT,  # SYNTAX_ERROR
    115: _STATEMENT,  # UNKNOWN_SETTING
    81: _ADMINISTRATOR,  # UNKNOWN_DATABASE
    164: _ADMINISTRATOR,  # READONLY
    192: _ADMINISTRATOR,  # UNKNOWN_USER
    193: _ADMINISTRATOR,  # WRONG_PASSWORD
    194: _ADMINISTRATOR,  # REQUIRED_PASSWORD
    452: _Rule(
        ErrorClass.STOP,
        "let the user change the settings of its inserts and queries",
        is_refusal=True,
    ),  # SETTING_CONSTRAINT_VIOLATION
    469: _Rule(ErrorClass.STOP, "drop the table's constraint, or correct it", is_refusal=True),
    497: _ADMINISTRATOR,  # ACCESS_DENIED
    516: _ADMINISTRATOR,  # AUTHENTICATION_FAILED
    # Values for which an expression has no result.
    6: _EXPRESSION,  # CANNOT_PARSE_TEXT
    27: _EXPRESSION,  # CANNOT_PARSE_INPUT_ASSERTION_FAILED
    38: _EXPRESSION,  # CANNOT_PARSE_DATE
    41: _EXPRESSION,  # CANNOT_PARSE_DATETIME
    69: _EXPRESSION,  # ARGUMENT_OUT_OF_BOUND
    72: _EXPRESSION,  # CANNOT_PARSE_NUMBER
    131: _EXPRESSION,  # TOO_LARGE_STRING_SIZE
    153: _EXPRESSION,  # ILLEGAL_DIVISION
    190: _EXPRESSION,  # SIZES_OF_ARRAYS_DONT_MATCH
    321: _EXPRESSION,  # VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
    376: _EXPRESSION,  # CANNOT_PARSE_UUID
    395: _EXPRESSION,  # FUNCTION_THROW_IF_VALUE_IS_NON_ZERO
    407: _EXPRESSION,  # DECIMAL_OVERFLOW
    467: _EXPRESSION,  # CANNOT_PARSE_BOOL
    675: _EXPRESSION,  # CANNOT_PARSE_IPV4
    676: _EXPRESSION,  # CANNOT_PARSE_IPV6
    691: _EXPRESSION,  # UNKNOWN_ELEMENT_OF_ENUM
}
"""Rules by ClickHouse error code. Every other code means: the same block again."""

PARTITIONS_IN_BLOCK = "Too many partitions"
"""Text of the other error with code 252: a block has rows of more partitions than allowed."""
QUORUM_TAKEN = "already been started", "already started"
"""Texts of code 286 at the commit of a part; the parts of the block before it are stored."""
_SPREAD = _Rule(
    ErrorClass.STOP,
    "let the table have fewer partitions, or raise max_partitions_per_insert_block for the user",
    is_refusal=True,
)


def classified(
    error: Exception, *, was_sent: bool, is_one_part: bool, setup: ClientSetup
) -> InsertProblem:
    """Returns what to do about an error.

    Args:
        error: of the driver, or of the socket while the driver used it.
        was_sent: data of the block were given to the socket before.
        is_one_part: the table has one partition, so that a block is stored whole or not at all.
        setup: of the client, for the remedy.
    """
    code, text = code_of(error), reason(error)
    if isinstance(error, TooLate):
        rule = _AGAIN
    elif code in (None, 209, 210):
        rule = _BROKEN if was_sent else _OTHER  # no connection
    elif code == 252 and PARTITIONS_IN_BLOCK in text:
        rule = _SPREAD
    elif code == 286 and not is_one_part and any(each in text for each in QUORUM_TAKEN):
        rule = _AGAIN
    else:
        rule = RULES.get(code, _AGAIN)
    if rule.remedy:
        text = f"{text}; {rule.remedy}"
    elif rule in (_ADMINISTRATOR, _OTHER):
        text = problem(error, setup)
    return InsertProblem(
        error_class=rule.error_class,
        code=code,
        text=text,
        may_be_stored=isinstance(error, TooLate) or (was_sent and not rule.is_refusal),
        leaves_replica=rule.leaves_replica,
    )
