"""Connection check: two names of one cluster are found by its cluster id."""

from tui.cli.exit_codes import ExitCode
from tui.state.connections import Connection, Connections, judged


def test_two_names_of_one_cluster_are_a_mistake() -> None:
    found = Connections(judged([Connection("west regional", "x", ""), Connection("e", "x", "")]))
    assert found.connections[1].problem == "the same cluster as west regional: each needs its own"
    assert found.exit_code is ExitCode.USAGE


def test_a_cluster_that_is_away_counts_more() -> None:
    away = Connection("west regional", None, "no answer")
    found = Connections(judged([away, away, Connection("e", "x", "")]))
    assert found.exit_code is ExitCode.UNREACHABLE
    assert found.as_table().splitlines()[1].split() == ["west", "regional", "?", "no", "answer"]


def test_clusters_of_their_own_are_fine() -> None:
    found = Connections(judged([Connection("w", "x", ""), Connection("e", "y", "")]))
    assert found.exit_code is ExitCode.DONE
