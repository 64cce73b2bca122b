"""Plans on disk are whole or absent, and are found by id or by path only."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from replicator.groups.failover.plan_files import PlanFiles, PlanMissing, PlanNotKept, new_id
from replicator.groups.planning.failover_plan import (
    BrokenPlan,
    Completeness,
    Plan,
    UnknownPlan,
    encode,
)

PLAN = Plan(
    id="20130101-000000-3f9a",
    created_at_ms=1_000,
    expires_at_ms=301_000,
    source="west",
    target="east",
    reason="west is lost",
    is_planned=False,
    age_ms=None,
    completeness=Completeness(0, 0, 0),
    checks=(),
    groups=(),
)


@pytest.fixture
def files(tmp_path: Path) -> PlanFiles:
    return PlanFiles(tmp_path / "state" / "plans")


def test_a_plan_is_found_by_its_id_and_by_its_path(files: PlanFiles) -> None:
    path = files.save(PLAN)
    assert files.load(PLAN.id) == files.load(str(path)) == PLAN


def test_nothing_but_whole_plans_is_left_in_the_directory(files: PlanFiles) -> None:
    path = files.save(PLAN)
    files.save(replace(PLAN, reason="again"))
    assert [each.name for each in path.parent.iterdir()] == [f"{PLAN.id}.json"]
    assert files.load(PLAN.id).reason == "again"


@pytest.mark.parametrize("name", ["nosuch", "../plans", "", "a\0b", "x" * 5000, "."])
def test_a_text_that_is_no_plan_is_missing(files: PlanFiles, name: str) -> None:
    files.save(PLAN)
    with pytest.raises(PlanMissing):
        files.load(name)


def test_a_broken_plan_and_one_of_another_version_are_named_with_their_file(
    files: PlanFiles,
) -> None:
    path = files.save(PLAN)
    path.write_text(encode(PLAN)[:-2])
    with pytest.raises(BrokenPlan, match=path.name):
        files.load(PLAN.id)
    path.write_text(encode(PLAN).replace('"schema_version":1', '"schema_version":9'))
    with pytest.raises(UnknownPlan, match=path.name):
        files.load(PLAN.id)


def test_all_plans_are_listed_oldest_first_and_broken_ones_by_the_reason(files: PlanFiles) -> None:
    assert list(files.all()) == []
    newer = replace(PLAN, id="20130101-000001-0000")
    path = files.save(newer)
    files.save(PLAN)
    path.with_name("20130101-000002-0000.json").write_text("{")
    *sound, (name, reason) = files.all()
    assert sound == [(PLAN.id, PLAN), (newer.id, newer)]
    assert name == "20130101-000002-0000" and isinstance(reason, BrokenPlan)


def test_a_directory_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlanNotKept, match="file"):
        PlanFiles(tmp_path / "file" / "plans").save(PLAN)


def test_ids_sort_by_time_and_are_names_of_files() -> None:
    first, second = new_id(1_356_998_400_000), new_id(1_356_998_401_000)
    assert first.startswith("20130101-000000-") and first < second


def modes(folder):
    """Returns the modes of the folder and of everything below it."""
    return {stat.S_IMODE(each.stat().st_mode) for each in (folder, *folder.rglob("*"))}


@pytest.fixture
def open_umask():
    """Sets the umask of a shell that lets everybody write."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_plans_are_for_their_owner_alone_whatever_the_umask(tmp_path):
    PlanFiles(tmp_path / "state" / "plans").save(PLAN)
    assert modes(tmp_path / "state") == {0o700, 0o600}


def test_no_plan_is_read_from_a_directory_that_others_may_write_to(tmp_path):
    plans = PlanFiles(tmp_path / "plans")
    plans.save(PLAN)
    (tmp_path / "plans").chmod(0o777)
    with pytest.raises(PlanNotKept, match="chmod go-w"):
        plans.load(PLAN.id)


def test_a_directory_of_plans_that_others_may_write_to_is_refused_with_the_mend(tmp_path):
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans").chmod(0o777)
    with pytest.raises(PlanNotKept, match="chmod go-w"):
        PlanFiles(tmp_path / "plans").save(PLAN)
