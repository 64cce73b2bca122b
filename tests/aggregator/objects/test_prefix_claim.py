"""Claims are read back as they were written; what is none is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.objects.prefix_claim import PrefixClaim, UnreadableClaim, below

CLAIM = PrefixClaim("lake", "east aggregate", "id-1")


@given(st.builds(PrefixClaim, st.text(), st.text(), st.text()))
def test_a_claim_is_read_as_it_was_written(claim):
    assert PrefixClaim.decode(claim.encode()) == claim


def test_feed_and_cluster_id_decide_and_names_of_clusters_do_not():
    assert CLAIM.is_same(PrefixClaim("lake", "renamed", "id-1"))
    assert not CLAIM.is_same(PrefixClaim("pond", "east aggregate", "id-1"))
    assert not CLAIM.is_same(PrefixClaim("lake", "east aggregate", "id-2"))


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]", b'{"feed": 1}', b"\xff", b"null"])
def test_what_is_no_claim_is_named(content):
    with pytest.raises(UnreadableClaim, match="no claim of a feed"):
        PrefixClaim.decode(content)


def test_a_name_below_no_prefix_has_no_slash():
    assert (below("", "name"), below("a/b", "name")) == ("name", "a/b/name")
