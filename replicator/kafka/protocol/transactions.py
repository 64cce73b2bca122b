"""ListTransactions: the transactional ids of producer ids, as coordinators know them."""

from __future__ import annotations

from collections.abc import Sequence

from aiokafka.protocol.api import Request, RequestStruct, Response
from aiokafka.protocol.types import (
    CompactArray,
    CompactString,
    Int16,
    Int32,
    Int64,
    Schema,
)

from replicator.kafka.protocol.fields import TAGS, rows


class ListTransactionsResponse(Response):
    API_KEY = 66
    API_VERSION = 0
    SCHEMA = Schema(
        ("throttle_time_ms", Int32),
        ("error_code", Int16),
        ("unknown_state_filters", CompactArray(CompactString())),
        rows(
            "transaction_states",
            ("transactional_id", CompactString()),
            ("producer_id", Int64),
            ("transaction_state", CompactString()),
        ),
        TAGS,
    )


class ListTransactionsStruct(RequestStruct):
    API_KEY = 66
    API_VERSION = 0
    FLEXIBLE_VERSION = True
    RESPONSE_TYPE = ListTransactionsResponse
    SCHEMA = Schema(
        ("state_filters", CompactArray(CompactString())),
        ("producer_id_filters", CompactArray(Int64)),
        TAGS,
    )


class ListTransactionsRequest(Request[ListTransactionsStruct]):
    """Transactions of some producer ids that this broker coordinates and we may describe."""

    API_KEY = 66

    def __init__(self, producer_ids: Sequence[int]):
        self._producer_ids = list(producer_ids)

    def build(self, request_struct_class: type[ListTransactionsStruct]) -> ListTransactionsStruct:
        return request_struct_class([], self._producer_ids, {})
