"""A feed has the keys of its kind; without a kind it loads tables."""

import pytest
from pydantic import TypeAdapter, ValidationError

from replicator.config.any_feed import AnyFeed
from replicator.config.feed_settings import ANY_FEED, ClickHouseFeed
from replicator.config.object_feed import ObjectFeed

FEED: TypeAdapter[ClickHouseFeed | ObjectFeed] = TypeAdapter(AnyFeed)
COMMON = {"name": "air", "region": "east", "clusters": ["east aggregate"]}


@pytest.mark.parametrize("kind", [{}, {"kind": "clickhouse"}])
def test_a_feed_loads_tables_unless_its_kind_says_otherwise(kind):
    shards = {"shards": ANY_FEED["shards"]}
    assert isinstance(FEED.validate_python({**COMMON, **shards, **kind}), ClickHouseFeed)


def test_a_feed_of_kind_s3_has_a_bucket():
    found = FEED.validate_python({**COMMON, "kind": "s3", "bucket": "lake"})
    assert isinstance(found, ObjectFeed)
    assert FEED.validate_python(found) is found


@pytest.mark.parametrize("kind", ["s4", 7])
def test_an_unknown_kind_is_refused_with_those_that_there_are(kind):
    with pytest.raises(ValidationError, match="clickhouse.*s3"):
        FEED.validate_python({**COMMON, "kind": kind})
