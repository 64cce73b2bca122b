from decimal import Decimal

import pytest

from replicator.kafka.admin.topic import number


@pytest.mark.parametrize(("text", "size"), [("0.5", Decimal("0.5")), (None, None), ("true", None)])
def test_a_number_is_read_exactly_or_not_at_all(text: str | None, size: Decimal | None) -> None:
    assert number("segment.ms", text) == size
