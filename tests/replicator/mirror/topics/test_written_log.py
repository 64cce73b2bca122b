"""Records of the configs that drivers wrote, as bytes."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.mirror.topics.followed_configs import WrittenConfigs
from replicator.mirror.topics.written_log import decode, encode
from tests.replicator.mirror.topics.played_cluster import KAFKA_43


@given(st.dictionaries(st.sampled_from(sorted(KAFKA_43)), st.lists(st.text(), min_size=1)))
def test_a_record_of_written_configs_is_read_as_written(values: dict[str, list[str]]) -> None:
    record = WrittenConfigs(UUID(int=7), {name: tuple(each) for name, each in values.items()})
    assert decode(encode(record)) == record


@pytest.mark.parametrize(
    "value", [b"", b"[]", b'{"version":2}', b'{"version":1,"topic_id":7,"values":{}}']
)
def test_a_record_that_is_not_ours_is_named(value: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode(value)
