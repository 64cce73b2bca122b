"""The file map in docs/ARCHITECTURE.md is complete, and unit tests have the paths of their
modules."""

from __future__ import annotations

import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
TESTS = CHECKOUT / "tests"
PACKAGES = ("aggregator", "balancer", "replicator", "tui")
ONLY_LIVE = """
    aggregator/driver/: daemon
    aggregator/intents/: intent_store reading stored table_range
    aggregator/loader/: assembly assignment block_partition
    aggregator/loader/: held_partition
    aggregator/loader/: loader_session loss_acceptance object_records progress
    aggregator/loader/: object_partition reporting sink table_sink
    aggregator/restore/: object_inventory told_source
    aggregator/store/: outgoing_block part_counts replica server_features shard_store
    aggregator/verifier/: alerts anomaly_board check commit_stream daemon finding row_check
    aggregator/verifier/: topic_probe topic_rows
    replicator/audit/: target_audit topic_progress
    replicator/groups/copies/: runs_tailer
    replicator/groups/failover/: arrival source_copies source_facts target_logs
    replicator/groups/membership/: unmovable_store
    replicator/groups/offset_sync/: peer_tending region_sync
    replicator/groups/resume/: assignment awaited_runs runs_reader
    replicator/kafka/admin/: group_members
    replicator/kafka/client/: cluster custody open_transactions source_checks trouble_watch
    replicator/kafka/protocol/: fetch leader_epoch metadata offset_and_metadata produce producers
    replicator/kafka/protocol/: topic_id transactions
    replicator/kafka/tail/: consumer_offsets copy_store log_ends topic_tailer
    replicator/mirror/carrier/: acquisition assembly assignment command_follower
    replicator/mirror/carrier/: pipelines reassignment sender senders target_watch
    replicator/mirror/driver/: driver_leadership own_topics
    replicator/mirror/ledger/: acquired inspection
    replicator/mirror/offset_map/: carrier_reports read_back
    replicator/mirror/repair/: accept_loss operator_takeover
    replicator/notices/: notice_store noting
    replicator/orders/: balance_log order_follower status_board
    replicator/placement/rounds/: connections daemon
    replicator/runtime/: redis_store
    tui/actions/: audit_keeping map_rebuild plan_applying plan_making primary_regions
    tui/state/: balance_client balancing copies copies_probe feed_objects group_view loss_report
    tui/state/: pending_blocks
    tui/state/: plan_summary region_event restore_result shard_servers swept_uploads taken_objects
"""
"""Modules without a test file of their own name: edges, loops and wire formats that tests/live
covers. Remove a module from the list when it gets such a file."""


def modules() -> set[str]:
    """Returns all modules of the packages, as paths from the checkout without suffix."""
    return {
        path.relative_to(CHECKOUT).with_suffix("").as_posix()
        for package in PACKAGES
        for path in (CHECKOUT / package).rglob("*.py")
        if path.name != "__init__.py"
    }


def file_map() -> list[str]:
    """Returns the names in the map, as paths from the checkout.

    A line that begins with a folder names it and says what it is for; the lines below name its
    modules. Two spaces of indentation for each folder above.
    """
    text = (CHECKOUT / "docs" / "ARCHITECTURE.md").read_text()
    found = re.search(r"^## File map\n+```\n(.*?)^```", text, re.M | re.S)
    assert found, "docs/ARCHITECTURE.md has no file map"
    names: list[str] = []
    path: list[str] = []
    for line in found[1].splitlines():
        if heading := re.match(r"( *)(\w+/) ", line):
            path[len(heading[1]) // 2 :] = [heading[2]]
        elif path[0].rstrip("/") in PACKAGES:
            names += ["".join(path) + name for name in line.split()]
    return names


def test_the_file_map_names_exactly_the_modules_there_are_and_each_once():
    assert sorted(file_map()) == sorted(modules())


def test_every_unit_test_stands_where_its_module_does():
    places = {
        (path.parent / path.stem.removeprefix("test_")).relative_to(TESTS)
        for package in (*PACKAGES, "deploy")
        for path in (TESTS / package).rglob("test_*.py")
    }
    homeless = {
        place.as_posix()
        for place in places
        if not (CHECKOUT / place).with_suffix(".py").exists()
        # tests/deploy/test_appliance_toml.py tests deploy/appliance.toml.
        and not (CHECKOUT / place.parent / place.name.replace("_", ".")).exists()
    }
    assert not homeless


def test_every_module_has_a_test_file_of_its_own_or_is_named_as_driven_by_live_tests():
    lines = (line.split(":") for line in ONLY_LIVE.split("\n") if line)
    named = {folder.strip() + name for folder, names in lines for name in names.split()}
    assert {module for module in modules() if not has_own_test(module)} == named


def has_own_test(module: str) -> bool:
    """Returns True if the module has a test file at its own path, or one of its name in
    tests/live."""
    folder, _, name = module.rpartition("/")
    return any((place / f"test_{name}.py").exists() for place in (TESTS / folder, TESTS / "live"))
