"""Parts of `.ci/run` behind `make test`: which of them are run, and which are named as left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.ci_parts import END_SECONDS, FILE, PARTS, ends_in_time, in_order, main, run_parts

CHECKOUT = Path(__file__).parents[1]


class Making:
    """`make` on a clock of its own: each part takes the seconds that are given for it."""

    def __init__(self, seconds: dict[str, float], failing: str = "") -> None:
        self.seconds, self.failing = seconds, failing
        self.now = 0.0
        self.made: list[str] = []

    def __call__(self, part: str) -> int:
        self.made.append(part)
        self.now += self.seconds[part]
        return 2 if part == self.failing else 0

    def clock(self) -> float:
        return self.now


def test_a_part_begins_only_if_by_its_last_time_it_ends_in_time():
    assert ends_in_time("drills", END_SECONDS - 100, {"drills": 100})
    assert not ends_in_time("drills", END_SECONDS - 99, {"drills": 100})


def test_with_time_for_all_parts_all_are_run_in_their_order():
    making = Making({"rest": 1000, "drills": 500})
    assert run_parts(PARTS, 800, {"rest": 900, "drills": 600}, making, making.clock) == (
        0,
        {"rest": 1000, "drills": 500},
    )
    assert making.made == ["rest", "drills"]


def test_what_there_is_no_time_for_is_left_out_by_name_and_a_shorter_part_is_run(
    capsys: pytest.CaptureFixture[str],
):
    making = Making({"rest": 1000, "drills": 500})
    run_parts(PARTS, END_SECONDS - 1100, {"rest": 1200, "drills": 600}, making, making.clock)
    assert making.made == ["drills"]
    last = capsys.readouterr().out.splitlines()[-1]
    gone = f"{END_SECONDS - 1100:.0f} s were gone, it took 1200 s"
    assert last == f"ci: LEFT OUT: make rest: NOT TESTED ({gone})"


def test_every_second_commit_begins_with_the_other_part():
    assert in_order("a0") == in_order("") == PARTS
    assert in_order("a1") == PARTS[::-1]


def test_a_part_that_takes_longer_than_before_leaves_out_the_next_one():
    making = Making({"rest": 2000, "drills": 500})
    run_parts(PARTS, END_SECONDS - 2400, {"rest": 1000, "drills": 600}, making, making.clock)
    assert making.made == ["rest"]


def test_a_part_that_fails_fails_the_whole_and_keeps_no_other_from_being_run():
    making = Making({"rest": 1000, "drills": 500}, failing="rest")
    status, seconds = run_parts(PARTS, 800, {"rest": 900, "drills": 600}, making, making.clock)
    assert making.made == ["rest", "drills"]
    assert (status, seconds) == (1, {"drills": 500})


def test_measured_times_are_kept_where_they_are_asked_for(tmp_path: Path):
    file, making = tmp_path / "parts.json", Making({"rest": 0})
    file.write_text('{"rest": 100, "drills": 9000}')
    assert main("0", file=file, make_target=making) == 0
    assert json.loads(file.read_text()) == {"rest": 100, "drills": 9000}
    assert main("0", "--store", file=file, make_target=making) == 0
    assert json.loads(file.read_text()) == {"rest": 0, "drills": 9000}
    assert making.made == ["rest", "rest"]


def test_each_part_is_a_target_whose_time_was_measured():
    makefile = (CHECKOUT / "Makefile").read_text()
    assert set(PARTS) == set(json.loads(FILE.read_text()))
    assert all(f"\n{part}: setup ## " in makefile for part in PARTS)
