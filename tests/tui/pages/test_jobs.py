"""Page of the jobs."""

from dataclasses import replace

from tests.tui.console import snapshots
from tests.tui.console.running import FakeJob
from tui.pages.jobs import JobPage, JobsPage, left_behind, notes_of
from tui.pages.page import Row
from tui.pages.plan import PlanPage

NOW, EMPTY = snapshots.NOW, snapshots.empty()
RUNNING = FakeJob("job-2", "sluice balance apply")
LOST = FakeJob("job-1", "sluice failover apply p1", state="lost", meaning="not known")


def read():
    return [RUNNING, LOST]


def test_a_running_job_has_no_exit_code_and_its_time_goes_on():
    page = JobsPage(read, read)
    (section,) = page.sections(EMPTY, NOW)
    running, lost = section.rows
    assert [cell.text for cell in running.cells[:3]] == ["running", "-", "sluice balance apply"]
    assert running.cells[5].text == "3.0 s"
    assert not running.is_fault
    assert lost.is_fault and lost.cells[5].text == "?"
    assert page.opened(EMPTY, running) == JobPage(read, read, "job-2")


def test_a_job_whose_files_are_gone_says_so():
    page = JobPage(read, read, "gone")
    (section,) = page.sections(EMPTY, NOW)
    assert section.heading == "not there any more"
    assert page.title(EMPTY) == "job gone"
    assert page.notes(EMPTY, None, NOW) == ()


def test_the_title_of_a_job_is_its_command():
    page = JobPage(read, read, "job-1")
    assert page.title(EMPTY) == "sluice failover apply p1"
    assert page.notes(EMPTY, None, NOW)[1] == "lost: not known"


def test_a_job_leads_to_the_plan_that_it_made_or_applied():
    plan, row = snapshots.plan_summary(), Row("output 0", ())
    snapshot = replace(snapshots.healthy(), plans=(plan,))
    made = FakeJob("job-3", "sluice failover plan", result=(f"id: {plan.plan_id}",))
    applied = FakeJob("job-4", f"sluice failover apply {plan.plan_id}")
    for job in (made, applied):
        jobs = [job]
        page = JobPage(lambda jobs=jobs: jobs, lambda jobs=jobs: jobs, job.job_id)
        assert page.opened(snapshot, row) == PlanPage(plan.plan_id)
        assert page.opened(EMPTY, row) is None
    assert JobPage(read, read, "job-2").opened(snapshot, row) is None
    assert JobPage(read, read, "gone").opened(snapshot, row) is None


def test_what_the_screens_thread_asks_never_reads_files():
    def blocked():
        raise AssertionError("read in the thread of the screen")

    row = JobsPage(read, read).sections(EMPTY, NOW)[0].rows[1]
    page = JobsPage(blocked, read)
    assert page.notes(EMPTY, row, NOW)[1] == "lost: not known"
    opened = page.opened(EMPTY, row)
    assert opened is not None and opened.notes(EMPTY, None, NOW) == page.notes(EMPTY, row, NOW)
    assert opened.title(EMPTY) == "sluice failover apply p1"


def test_a_way_out_is_quoted_for_a_shell():
    lost = FakeJob("j", "x", state="lost", way_out=("balance", "show", "--route", "west>east"))
    assert notes_of(lost)[-1] == "to see what was done: sluice balance show --route 'west>east'"


def test_jobs_of_earlier_consoles_that_run_or_are_not_known_are_told():
    lost = replace(LOST, way_out=("failover", "verify", "p1"))
    ended = FakeJob("job-0", "sluice alerts list", state="ended", exit_code=0)
    assert left_behind([RUNNING, lost, ended], NOW) == (
        "1 job still running, 1 job of unknown result"
    )
    assert left_behind([ended], NOW) == ""
    assert left_behind([RUNNING, lost], NOW + 86_500.0) == ""
