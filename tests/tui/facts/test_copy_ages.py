"""Logs whose copies a failover needs. Their ages are tested live (test_group_questions.py)."""

from tests.tui.facts.watch.told import appliance
from tui.facts.watch.group_questions import logs_of


def test_a_failover_needs_the_commits_of_a_region_and_the_runs_of_the_routes_into_it():
    assert logs_of(appliance("east", "west"), "west") == (
        "commits:west",
        "runs:east.west",
        "runs:west.west",
    )
