"""Claims about the names of clusters."""

import pickle

import pytest

from replicator.config.cluster_name import ClusterName


def test_a_name_is_the_text_of_region_and_role():
    name = ClusterName.aggregate("west-1")
    assert (name, f"{name!r}") == ("west-1 aggregate", "'west-1 aggregate'")
    assert (name.region, name.role) == ("west-1", "aggregate")
    assert ClusterName("west regional") == ClusterName.regional("west")


def test_a_name_survives_pickling():
    copy = pickle.loads(pickle.dumps(ClusterName.regional("west")))
    assert isinstance(copy, ClusterName) and copy.region == "west"


@pytest.mark.parametrize("text", ["west", "west Redis", "", "west aggregate now"])
def test_another_text_is_refused(text):
    with pytest.raises(ValueError, match="<region> regional or <region> aggregate"):
        ClusterName(text)
