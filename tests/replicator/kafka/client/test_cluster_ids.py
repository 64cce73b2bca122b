"""Claims about comparing cluster ids, on values alone."""

from hypothesis import given
from hypothesis import strategies as st

from replicator.config.cluster_name import ROLES, ClusterName
from replicator.config.topology import Route
from replicator.kafka.client.cluster_ids import ends, first_clash, harm

WEST, EAST = ClusterName.regional("west"), ClusterName.aggregate("east")
EAST_REGIONAL = ClusterName.regional("east")
names = st.builds(
    ClusterName.of, st.sampled_from(["north", "east", "west"]), st.sampled_from(ROLES)
)


@given(st.dictionaries(names, st.sampled_from("abcdef")))
def test_a_clash_is_found_exactly_where_two_clusters_have_one_id(ids):
    clash = first_clash(ids)
    assert (clash is None) == (len(set(ids.values())) == len(ids))
    if clash:
        one, other = clash
        assert one != other
        assert ids[one] == ids[other]


def test_the_clusters_of_routes_are_named_once_each():
    routes = [Route("west", "east"), Route("east", "east")]
    assert ends(routes) == (WEST, EAST, EAST_REGIONAL)


def test_a_clash_names_its_consequence():
    routes = [Route("west", "east")]
    assert harm(WEST, EAST, routes) == "route west>east would lead onto itself"
    assert "more than once" in harm(WEST, EAST_REGIONAL, routes)
    assert "more than once" in harm(ClusterName.aggregate("west"), EAST, routes)
    assert "in a circle" in harm(EAST_REGIONAL, EAST, routes)
