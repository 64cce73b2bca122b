"""Names are quoted as ClickHouse reads them."""

from __future__ import annotations

import pytest

from aggregator.store.identifier import quoted


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (("flights",), "`flights`"),
        (("west", "flights"), "`west`.`flights`"),
        (("a`b\\c",), "`a\\`b\\\\c`"),
    ],
)
def test_a_name_is_quoted_whatever_is_in_it(names, text):
    assert quoted(*names) == text
