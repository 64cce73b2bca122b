"""A fetch session names only what changed, and the broker's view of it never drifts from ours."""

from dataclasses import replace
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from replicator.kafka.client.fetch_session import EPOCH_MAX, Changes, FetchSession, TopicIdPartition
from replicator.kafka.protocol.fetch import FetchPosition

TOPIC = UUID(int=7)
SESSION = 42


def position(partition: int, offset: int = 0) -> FetchPosition:
    return FetchPosition(TOPIC, partition, offset, 1 << 20)


def wanted(*positions: FetchPosition) -> dict[TopicIdPartition, FetchPosition]:
    return {(each.topic, each.partition): each for each in positions}


def begun(*positions: FetchPosition) -> FetchSession:
    """Returns a session whose first request the broker has answered."""
    session = FetchSession()
    session.next(wanted(*positions))
    session.answered(SESSION)
    return session


def test_the_first_request_has_all_positions_and_asks_for_a_session():
    changes = FetchSession().next(wanted(position(0), position(1)))
    assert changes == Changes(0, 0, (position(0), position(1)), ())


def test_unchanged_positions_are_not_sent_again():
    session = begun(position(0), position(1))
    assert session.next(wanted(position(0), position(1))) == Changes(SESSION, 1, (), ())
    session.answered(SESSION)
    moved = wanted(position(0), position(1, offset=5))
    assert session.next(moved) == Changes(SESSION, 2, (position(1, offset=5),), ())


def test_another_leader_epoch_or_size_is_a_change():
    session = begun(position(0), position(1))
    led, small = replace(position(0), leader_epoch=3), replace(position(1), bytes_max=1)
    assert session.next(wanted(led, small)).positions == (led, small)


def test_partitions_that_are_no_longer_fetched_are_forgotten_also_when_as_many_are_new():
    session = begun(position(0), position(1))
    changes = session.next(wanted(position(1), position(2)))
    assert changes == Changes(SESSION, 1, (position(2),), ((TOPIC, 0),))
    session.answered(SESSION)
    assert session.next({}).forgotten == ((TOPIC, 1), (TOPIC, 2))


def test_after_an_error_or_a_lost_answer_all_positions_are_sent_again():
    session = begun(position(0), position(1))
    session.next(wanted(position(0, offset=5), position(1)))
    session.forget()
    everything = wanted(position(0, offset=5), position(1))
    assert session.next(everything) == Changes(0, 0, tuple(everything.values()), ())


def test_a_broker_that_keeps_no_session_is_sent_all_positions_each_time():
    session = FetchSession()
    for _ in range(3):
        assert session.next(wanted(position(0))) == Changes(0, 0, (position(0),), ())
        session.answered(0)


def test_a_session_that_the_broker_gives_up_begins_anew():
    session = begun(position(0))
    session.next(wanted(position(0)))
    session.answered(0)
    assert session.next(wanted(position(0))) == Changes(0, 0, (position(0),), ())


def test_the_epoch_wraps_to_1_because_0_would_begin_a_session():
    session, epochs = FetchSession(epoch_max=3), []
    for _ in range(6):
        epochs.append(session.next(wanted(position(0))).epoch)
        session.answered(SESSION)
    assert epochs == [0, 1, 2, 3, 1, 2]
    assert EPOCH_MAX == 2**31 - 1


def test_the_last_requested_position_is_known_also_where_it_was_not_sent_again():
    session = begun(position(0, offset=5))
    session.next(wanted(position(0, offset=5), position(1, offset=9)))
    assert session.asked((TOPIC, 0)) == position(0, offset=5)
    assert session.asked((TOPIC, 1)) == position(1, offset=9)
    assert session.asked((TOPIC, 2)) is None
    session.next(wanted(position(1, offset=9)))
    assert session.asked((TOPIC, 0)) is None
    session.forget()
    assert session.asked((TOPIC, 1)) is None


class Broker:
    """A broker by KIP-227: full requests replace its view of the session, others change it."""

    def __init__(self) -> None:
        self.view: dict[TopicIdPartition, FetchPosition] = {}
        self._epoch = 0

    def take(self, changes: Changes) -> None:
        if changes.epoch == 0:
            self.view = {}
        else:
            assert changes.session_id == SESSION
            assert changes.epoch == self._epoch
        self.view |= wanted(*changes.positions)
        for place in changes.forgotten:
            del self.view[place]
        self._epoch = changes.epoch + 1


WISHES = st.dictionaries(st.integers(0, 5), st.integers(0, 3)).map(
    lambda offsets: wanted(*(position(*each) for each in offsets.items()))
)
ANSWERS = st.sampled_from(["taken", "taken", "lost on the way", "lost on the way back", "no slot"])


@given(st.lists(st.tuples(WISHES, ANSWERS)))
def test_the_broker_knows_exactly_the_wanted_positions_whatever_is_lost(rounds):
    session, broker = FetchSession(), Broker()
    for wishes, answer in rounds:
        changes = session.next(wishes)
        if answer != "lost on the way":
            broker.take(changes)
            assert broker.view == wishes
        if answer.startswith("lost"):
            session.forget()
        else:
            session.answered(SESSION if answer == "taken" else 0)
