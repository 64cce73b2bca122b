"""Times of a topic's arrival, to the precision of periodic looks."""

from deploy.lab.progress import TransferProgress


def test_a_stretch_begins_at_the_look_before_its_first_record_and_ends_when_all_are_there():
    stretch = TransferProgress(expected=100)
    stretch.see(0, now=1.0, looked_before_at=0.0)
    assert not stretch.is_done
    stretch.see(40, now=2.0, looked_before_at=1.0)
    assert stretch.seconds is None
    stretch.see(100, now=3.0, looked_before_at=2.0)
    stretch.see(100, now=4.0, looked_before_at=3.0)
    assert stretch.seconds == 2.0


def test_nothing_to_come_is_done_at_the_first_look():
    stretch = TransferProgress(expected=0)
    stretch.see(0, now=1.0, looked_before_at=0.0)
    assert stretch.is_done
    assert stretch.seconds is None
