"""Each wait is for one record; a stream in which every record waits a little has no long wait."""

from replicator.groups.resume.patience import Due, Patience


def test_a_long_wait_is_logged_once_and_its_end_as_well():
    patience = Patience(60)
    assert [patience.wait(7, now) for now in (0, 4, 5, 6, 50)] == [
        Due.NOTHING,
        Due.NOTHING,
        Due.LOG,
        Due.NOTHING,
        Due.NOTHING,
    ]
    assert patience.end()
    assert not patience.end()


def test_patience_is_over_in_time_and_begins_anew():
    patience = Patience(60)
    assert patience.wait(7, 0) is Due.NOTHING
    assert patience.wait(7, 60) is Due.END
    assert patience.wait(7, 100) is Due.LOG
    assert patience.wait(7, 120) is Due.END


def test_every_record_has_a_wait_of_its_own():
    patience = Patience(60)
    assert {patience.wait(now, now) for now in range(0, 600, 3)} == {Due.NOTHING}


def test_after_an_end_the_next_wait_begins():
    patience = Patience(60)
    patience.wait(7, 0)
    patience.end()
    assert patience.wait(7, 61) is Due.NOTHING
