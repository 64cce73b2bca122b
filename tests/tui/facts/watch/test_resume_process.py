"""Worker's process: kept, ended with its owner, started again after a crash."""

import json
import subprocess
import sys

from tests.tui.facts.watch.told import appliance
from tui.facts.group_view import GroupDetail
from tui.facts.watch.question import Answer, Answers
from tui.facts.watch.resume_process import (
    DETAIL_KEY,
    WORKER,
    GroupFocus,
    ResumeProcess,
    resume_fields,
    resume_question,
)
from tui.facts.watch.resume_worker import DETAIL, first_line

FOCUS = ("billing", "west", "east")
ANSWER = GroupDetail(group="billing", source="west", target="east", worked_out_at=1.0)
ECHO = f"""
import os, sys
sys.stdin.readline()
for line in sys.stdin:
    print({DETAIL.dump_json(ANSWER).decode()!r}.replace("1.0", str(os.getpid())), flush=True)
"""
CRASH = "import sys; sys.stdin.readline(); sys.stdin.readline(); sys.exit(3)"
SILENT = "import sys; sys.stdin.read()"


def process(code, **options):
    return ResumeProcess(b"opening\n", command=(sys.executable, "-c", code), **options)


def test_the_process_is_kept_from_one_question_to_the_next():
    worker = process(ECHO)
    try:
        first, second = worker.detail(*FOCUS), worker.detail(*FOCUS)
    finally:
        worker.close()
    assert first.problem is None and first.worked_out_at == second.worked_out_at != 1.0


def test_a_crash_is_a_problem_and_the_next_question_starts_a_new_process():
    worker = process(CRASH)
    try:
        for _ in range(2):
            found = worker.detail(*FOCUS)
            assert found.problem == ("resume offsets: the process that works them out ended with 3")
            assert (found.group, found.source, found.target) == FOCUS
    finally:
        worker.close()


def test_a_process_that_does_not_answer_in_time_is_ended():
    worker = process(SILENT, patience_seconds=0.2)
    assert worker.detail(*FOCUS).problem == "resume offsets: no answer within 0.2 s"
    worker.close()


def test_after_closing_nothing_is_started_any_more():
    worker = process(ECHO)
    worker.close()
    assert worker.detail(*FOCUS).problem == "resume offsets: the console ends"


def test_the_worker_answers_about_servers_that_are_away_and_ends_with_its_input():
    """Ports 1 to 402 have no server: every server refuses at once."""
    with subprocess.Popen(
        WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        child.stdin.write(first_line(appliance("east", "west"), 1.0))
        child.stdin.write(json.dumps(FOCUS).encode() + b"\n")
        child.stdin.flush()
        found = DETAIL.validate_json(child.stdout.readline())
        assert "Redis at" in found.problem and found.positions == ()
        child.stdin.close()
        assert child.wait(30) == 0


def test_the_worker_of_an_appliance_is_started_with_the_first_question():
    worker = ResumeProcess.of(appliance("east", "west"), 1.0)
    try:
        assert "Redis at" in worker.detail(*FOCUS).problem
    finally:
        worker.close()


class Worker:
    """Worker that counts its questions."""

    def __init__(self):
        self.asked = []

    patience_seconds = 60.0

    def close(self):
        """Nothing runs."""

    def detail(self, *focus):
        self.asked.append(focus)
        group, source, target = focus
        return GroupDetail(group=group, source=source, target=target, worked_out_at=len(self.asked))


def test_only_the_group_on_screen_is_worked_out_and_not_at_every_look():
    clock = [2.0]
    focus: list[GroupFocus | None] = [None]
    worker = Worker()
    question = resume_question(worker, lambda: focus[0], lambda: clock[0])
    assert question.ask() is None and worker.asked == []
    focus[0] = FOCUS
    assert question.ask() is question.ask()
    assert worker.asked == [FOCUS]
    focus[0] = ("fraud", "west", "east")
    assert question.ask().group == "fraud"
    clock[0] = 20.0
    question.ask()
    assert [group for group, *_ in worker.asked] == ["billing", "fraud", "fraud"]


def test_the_worker_may_take_as_long_as_its_process_lets_it():
    question = resume_question(Worker(), lambda: None)
    assert question.timeout_seconds > Worker.patience_seconds


def test_the_answer_is_the_snapshots_group_detail():
    assert resume_fields(Answers({}), 1.0) == {"group_detail": None}
    answers = Answers({DETAIL_KEY: Answer(ANSWER, 1.0)})
    assert resume_fields(answers, 1.0) == {"group_detail": ANSWER}
    assert json.loads(DETAIL.dump_json(ANSWER))["group"] == "billing"
