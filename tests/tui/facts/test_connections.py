"""Connections: two names of one cluster are found by its cluster id."""

from tui.facts.connections import Connection, with_shared_ids_named

WEST = Connection("west regional", "x", "")
AWAY = Connection("west aggregate", None, "no answer")


def test_two_names_of_one_cluster_are_a_problem_of_the_second():
    first, second = with_shared_ids_named([WEST, Connection("e", "x", "")])
    assert first == WEST and first.is_sound
    assert second.problem == "the same cluster as west regional: each needs its own"
    assert not second.is_sound


def test_clusters_that_do_not_answer_are_not_called_the_same():
    assert with_shared_ids_named([AWAY, AWAY]) == (AWAY, AWAY)
    assert not AWAY.is_sound


def test_clusters_with_ids_of_their_own_are_sound():
    assert all(each.is_sound for each in with_shared_ids_named([WEST, Connection("e", "y", "")]))
