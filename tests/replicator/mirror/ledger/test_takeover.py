"""Every loss that an operator accepts is named, even one that is found only during the takeover."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar
from uuid import UUID

import pytest

from balancer.plan import TopicPartition
from replicator.config.topology import KafkaCluster, Route
from replicator.kafka.client.cluster import GROUP, Cluster, Fenced, ProducerState, ProducerStateLost
from replicator.kafka.client.cluster_metadata import Leader, Topic
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.ledger import takeover
from replicator.mirror.ledger.acquired import Taken
from replicator.mirror.ledger.entry import Custody, Entry, encode
from replicator.mirror.ledger.inspection import TargetFindings
from replicator.mirror.ledger.ledger import Ledger, groups_of
from replicator.mirror.ledger.loss import Loss, LossKind
from replicator.mirror.ledger.published_runs import runs_key
from replicator.mirror.ledger.takeover import Takeover
from replicator.mirror.offset_map.runs_tail import LastRun
from tests.replicator.mirror.ledger.ends import (
    SOURCE,
    TARGET,
    End,
    EntriesById,
    Pen,
    a_taker,
    batch,
    marker,
)
from tests.replicator.mirror.ledger.held import held

ROUTE = Route("west", "east")
ONE = TopicPartition("flights", 0)
ENTRY = held(source_offset=10, target_offset=100, transactional_id="sluice.west.east.3")
FINE = TargetFindings(start=150, end=160, leader=0, loss=None)
TAIL_DELETED = Loss(LossKind.TARGET_TAIL_DELETED, 100, 150)


class Pretend(Cluster):
    """A cluster with one topic of one partition, whose log is [20, 30)."""

    def __init__(self) -> None:
        super().__init__("pretend", KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]}))
        self._topics = {ONE.topic: Topic(UUID(int=7), {0: Leader(1, 0)})}

    async def log_start(self, topic: str, partition: int) -> int:
        return 20

    async def log_end(self, topic: str, partition: int) -> int:
        return 30


def gone_on(entry: Entry, tail: Loss, *accept: TopicPartition) -> Any:
    cluster = Pretend()
    taker = Takeover(
        ledger=Ledger(cluster, ROUTE),
        fenced_committer=FencedCommitter(cluster, "sluice.west.east.operator", 1000),
        source=cluster,
        target=cluster,
        start="earliest",
        tell=lambda _: asyncio.sleep(0),
        accept=dict.fromkeys(accept, entry.parked),
    )
    return asyncio.run(taker._go_on(ONE, entry, FINE, tail))


def test_a_deleted_tail_stops_a_taker_without_an_operators_word():
    assert gone_on(ENTRY, TAIL_DELETED) == TAIL_DELETED


def test_a_deleted_tail_that_is_stepped_over_is_named_beside_the_rest():
    taken = gone_on(ENTRY, TAIL_DELETED, ONE)
    assert isinstance(taken, Taken)
    assert taken.accepted == (TAIL_DELETED, Loss(LossKind.RETENTION_PASSED, 10, 20))
    assert taken.entry.source_offset == 20


def test_what_it_was_parked_for_and_is_found_again_is_named_once():
    parked = replace(ENTRY, parked=TAIL_DELETED)
    assert gone_on(parked, TAIL_DELETED, ONE).accepted == (
        TAIL_DELETED,
        Loss(LossKind.RETENTION_PASSED, 10, 20),
    )


# -- whole takeovers

HELD = replace(ENTRY, producer_id=7, epoch=3, sequence=50, source_topic=SOURCE, target_topic=TARGET)


@pytest.mark.parametrize(
    ("states", "goes_on_at"),
    [
        ({7: ProducerState(3, 1049)}, 1010),
        ({7: ProducerState(3, -1)}, 10),
        ({7: ProducerState(2, 5)}, 10),
        ({7: ProducerState(4, -1)}, None),
        ({}, None),
    ],
    ids=["remembered", "sent nothing", "never wrote", "a taker fenced and died", "forgotten"],
)
async def test_a_tail_that_retention_deleted_is_known_or_stops(monkeypatch, states, goes_on_at):
    target = End(TARGET, 2000, 2000, states, marker(2000, (7, 4)) + marker(2001, (7, 5)))
    book = EntriesById({ONE: HELD})
    acquired = await a_taker(monkeypatch, book, End(SOURCE, 0, 9000), target).acquire([ONE])
    if goes_on_at is None:
        assert "target deleted the tail" in acquired.parked[ONE]
        assert book[ONE].parked
    else:
        assert acquired.taken[ONE].entry.source_offset == goes_on_at


@pytest.mark.parametrize(
    ("states", "own", "goes_on_at"),
    [
        ({}, b"", None),
        ({}, batch(100, (7, 3), 50, 5), None),
        ({}, batch(100, (7, 3), 50, 5) + batch(112, (7, 3), 62, 3), 25),
        ({7: ProducerState(3, 64)}, b"", 25),
        ({7: ProducerState(2, 5)}, b"", 10),
    ],
    ids=["all gone", "its end gone", "its end there", "remembered", "never wrote"],
)
async def test_a_tail_that_the_cleaner_may_have_ended_is_known_or_stops(
    monkeypatch, states, own, goes_on_at
):
    """The last record in the log is another writer's."""
    log = own + batch(115, (6, 0), 0, 1) + marker(116, (7, 5))
    target = End(TARGET, 0, 116, states, log)
    book = EntriesById({ONE: HELD})
    acquired = await a_taker(monkeypatch, book, End(SOURCE, 0, 9000), target).acquire([ONE])
    if goes_on_at is None:
        assert "compaction left nothing" in acquired.parked[ONE]
    else:
        assert acquired.taken[ONE].entry.source_offset == goes_on_at


@pytest.mark.parametrize("accept", [(), (ONE,)], ids=["", "accepted"])
async def test_records_that_the_target_never_took_stop_and_are_stepped_over(monkeypatch, accept):
    log = batch(100, (7, 3), 50, 10) + batch(110, (7, 3), 65, 5) + marker(115, (7, 5))
    book = EntriesById({ONE: HELD})
    target = End(TARGET, 0, 115, {7: ProducerState(3, 69)}, log)
    taker = a_taker(monkeypatch, book, End(SOURCE, 0, 9000), target, accept=dict.fromkeys(accept))
    acquired = await taker.acquire([ONE])
    if accept:
        assert acquired.taken[ONE].entry.source_offset == 30
        (loss,) = acquired.taken[ONE].accepted
        assert (loss.kind, loss.begin, loss.end) == (LossKind.BATCH_MISSING, 20, 25)
    else:
        assert "source offsets [20, 25)" in acquired.parked[ONE]
        assert book[ONE].parked


class PublishedRuns:
    """A runs topic by which source offsets up to `end` stand in the target before `target_end`."""

    def __init__(self, entry: Entry, end: int, target_end: int = 90) -> None:
        self._told = {runs_key(ONE, entry): LastRun(end, target_end)}

    async def told_since(self, positions):
        return self._told


@pytest.mark.parametrize("accept", [(), (ONE,)], ids=["", "accepted"])
@pytest.mark.parametrize("custody", [Custody.HELD, Custody.RELEASED])
async def test_an_entry_older_than_what_was_told_stops_and_is_stepped_over(
    monkeypatch, custody, accept
):
    entry = replace(HELD, custody=custody, runs=(7,))
    book = EntriesById({ONE: entry})
    target = End(TARGET, 0, 120, {}, batch(100, (7, 3), 50, 10) + marker(110, (7, 5)))
    runs = PublishedRuns(entry, 500)
    tellings: list[Any] = []

    async def tell(told):
        tellings.append(told)

    source = End(SOURCE, 0, 9000)
    taker = a_taker(
        monkeypatch, book, source, target, accept=dict.fromkeys(accept), runs=runs, tell=tell
    )
    acquired = await taker.acquire([ONE])
    landed = 20 if custody is Custody.HELD else 10
    if accept:
        assert acquired.taken[ONE].entry.source_offset == 500
        (loss,) = acquired.taken[ONE].accepted
        assert (loss.kind, loss.begin, loss.end) == (LossKind.LEDGER_TURNED_BACK, landed, 500)
        assert not tellings, "the runs topic has them, and these would overrule them"
    else:
        assert (
            f"older than what was mirrored: source offsets [{landed}, 500)"
            in (acquired.parked[ONE])
        )
        assert book[ONE].parked and book[ONE].runs == (7,)


@pytest.mark.parametrize("restart_at", [10, 300, 500])
async def test_an_operator_may_carry_again_what_was_told(monkeypatch, restart_at):
    entry = replace(HELD, custody=Custody.RELEASED, runs=(7,))
    source, target = End(SOURCE, 0, 9000), End(TARGET, 0, 120)
    runs = PublishedRuns(entry, 500)
    more = {"accept": {ONE: None}, "runs": runs, "restart_at": restart_at}
    taker = a_taker(monkeypatch, EntriesById({ONE: entry}), source, target, **more)
    assert (await taker.acquire([ONE])).taken[ONE].entry.source_offset == restart_at


async def test_runs_told_under_more_losses_are_overruled_by_what_is_carried_on(monkeypatch):
    entry = replace(HELD, custody=Custody.RELEASED, runs=(7,))
    runs = PublishedRuns(replace(entry, losses=3), 500)
    source, target = End(SOURCE, 0, 9000), End(TARGET, 0, 120)
    taker = a_taker(
        monkeypatch, EntriesById({ONE: entry}), source, target, accept={ONE: None}, runs=runs
    )
    assert (await taker.acquire([ONE])).taken[ONE].entry.losses == 4


@pytest.mark.parametrize(("end", "target_end"), [(20, 90), (500, 5000)])
async def test_what_a_writer_told_and_what_the_target_lost_turn_no_ledger_back(
    monkeypatch, end, target_end
):
    entry = replace(HELD, runs=(7,))
    target = End(TARGET, 0, 111, {}, batch(100, (7, 3), 50, 10) + marker(110, (7, 5)))
    runs = PublishedRuns(entry, end, target_end)
    source = End(SOURCE, 0, 9000)
    acquired = await a_taker(
        monkeypatch, EntriesById({ONE: entry}), source, target, runs=runs
    ).acquire([ONE])
    assert acquired.taken[ONE].entry.source_offset == 20


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (End(SOURCE, 0, 9000, shows=False), "does not show"),
        (End(SOURCE, 0, 9000, shows=False, missing=9.9), "does not show"),
        (End(SOURCE, 0, 9000, refuses=True), "grant Describe"),
        (End(SOURCE, 0, 9000, refuses=True, missing=99), "grant Describe"),
    ],
)
async def test_a_topic_that_a_source_does_not_show_yet_is_waited_for(monkeypatch, source, words):
    book = EntriesById({ONE: replace(HELD, custody=Custody.RELEASED)})
    before = dict(book)
    acquired = await a_taker(monkeypatch, book, source, End(TARGET, 0, 100)).acquire([ONE])
    assert words in acquired.waiting[ONE]
    assert book == before


async def test_a_topic_that_a_source_long_denies_was_deleted(monkeypatch):
    book = EntriesById({ONE: replace(HELD, custody=Custody.RELEASED)})
    source = End(SOURCE, 0, 9000, shows=False, missing=10.0)
    acquired = await a_taker(monkeypatch, book, source, End(TARGET, 0, 100)).acquire([ONE])
    assert "source topic was deleted" in acquired.parked[ONE]


async def test_an_operators_word_that_a_topic_was_deleted_is_not_doubted(monkeypatch):
    book = EntriesById({ONE: replace(HELD, custody=Custody.RELEASED)})
    source = End(SOURCE, 0, 9000, shows=False)
    taker = a_taker(monkeypatch, book, source, End(TARGET, 0, 100), accept={ONE: None})
    acquired = await taker.acquire([ONE])
    assert "source topic was deleted" in str(acquired.taken[ONE].accepted)


# -- ids that do not answer

PLACES = [TopicPartition("flights", number) for number in range(10)]
SILENT = "sluice.west.east.3.free"


class Muted(Pen):
    """A writer of whose ids one never gets an answer."""

    asked: ClassVar[list[str]] = []

    async def open(self):
        self.asked.append(self.transactional_id)
        if self.transactional_id == SILENT:
            await asyncio.Event().wait()
        return self


def ten_ids() -> EntriesById:
    free = replace(HELD, custody=Custody.RELEASED)
    return EntriesById(
        {p: replace(free, transactional_id=f"sluice.west.east.{p.partition}.free") for p in PLACES}
    )


async def test_an_id_that_does_not_answer_keeps_nothing_else_from_being_carried(monkeypatch):
    monkeypatch.setattr(takeover, "ID_SECONDS", 0.3)
    monkeypatch.setattr(takeover.random, "shuffle", lambda ids: ids.sort())
    book = ten_ids()
    taker = a_taker(monkeypatch, book, End(SOURCE, 0, 9000), End(TARGET, 0, 100), Muted)
    first = await taker.acquire(PLACES)
    assert set(first.taken) == set(PLACES[:3])
    assert set(first.waiting) == set(PLACES[3:])
    assert all(SILENT in reason for reason in first.waiting.values())
    Muted.asked.clear()
    second = await taker.acquire(first.waiting)
    assert SILENT not in Muted.asked, "something was taken, and nothing of it carried meanwhile"
    assert set(second.taken) == set(PLACES[4:])
    assert set(second.waiting) == {PLACES[3]}
    third = await taker.acquire(second.waiting)
    assert set(third.waiting) == {PLACES[3]}
    assert {p for p, entry in book.items() if entry.custody is Custody.HELD} == (
        first.taken.keys() | second.taken.keys()
    )


async def test_a_commit_whose_answer_never_came_is_found_as_our_own(monkeypatch):
    monkeypatch.setattr(takeover, "ID_SECONDS", 0.3)
    book = EntriesById({ONE: replace(HELD, transactional_id="sluice.west.east.99", producer_id=8)})
    own = Pen(None, "sluice.west.east.99", 0, 8, 4)

    class Unanswered(EntriesById):
        async def replace(self, holder, before, entries):
            book.update(entries)
            await asyncio.Event().wait()

    target = End(TARGET, 0, 161, log=batch(100, (6, 0), 0, 60) + marker(160, (8, 4)))
    lost = a_taker(monkeypatch, Unanswered(book), End(SOURCE, 0, 9000), target, own=own)
    assert "sluice.west.east.99" in (await lost.acquire([ONE])).waiting[ONE]
    fences: list[object] = []
    monkeypatch.setattr(own, "fence", fences.append, raising=False)
    again = a_taker(monkeypatch, book, End(SOURCE, 0, 9000), target, own=own)
    assert (await again.acquire([ONE])).taken[ONE].entry == book[ONE]
    assert not fences


async def test_what_this_writer_gave_up_is_not_taken_again_without_a_fence(monkeypatch):
    own = FencedCommitter(Pretend(), "sluice.west.east.99")
    own.producer_id, own.epoch = 8, 4
    held = {"transactional_id": "sluice.west.east.99", "producer_id": 8, "epoch": 4}
    book = EntriesById({ONE: replace(HELD, **held)})
    source, target = End(SOURCE, 0, 9000), End(TARGET, 0, 161)
    taker = a_taker(monkeypatch, book, source, target, own=own)
    assert (await taker.acquire([ONE])).taken[ONE].entry.sequence == 50
    own.left_at(ONE, 70)  # parked, but the entry could not be committed
    with pytest.raises(ProducerStateLost, match="flights-0 was given up"):
        await taker.acquire([ONE])


async def test_takers_of_one_id_get_out_of_each_others_way_in_time(monkeypatch):
    pauses: list[float] = []

    class Beaten(Pen):
        async def open(self):
            if len(pauses) < 6:
                raise Fenced("another one was quicker")
            return self

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    taker = a_taker(
        monkeypatch,
        EntriesById({ONE: replace(HELD, custody=Custody.RELEASED)}),
        End(SOURCE, 0, 9000),
        End(TARGET, 0, 100),
        Beaten,
    )
    monkeypatch.setattr(takeover.random, "uniform", lambda *_: 1.0)
    monkeypatch.setattr(takeover.asyncio, "sleep", sleep)
    assert ONE in (await taker.acquire([ONE])).taken
    assert pauses == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 3.2])


async def test_what_another_was_quicker_to_take_is_spared_where_it_is_not_to_be_taken_from_it(
    monkeypatch,
):
    free = replace(HELD, custody=Custody.RELEASED, transactional_id="sluice.west.east.99.handed")
    book = EntriesById({ONE: free})

    class Late(Pen):
        async def open(self):
            book[ONE] = HELD
            return self

    def held(entries):
        return {place for place, entry in entries.items() if entry.custody is Custody.HELD}

    taker = a_taker(monkeypatch, book, End(SOURCE, 0, 9000), End(TARGET, 0, 100), Late)
    acquired = await taker.acquire([ONE], held)
    assert (acquired.spared, acquired.taken, book) == ({ONE}, {}, {ONE: HELD})


# -- a coordinator that is cut off from its peers


class Split(Cluster):
    """A cluster whose broker 1 was the coordinator of all groups, until broker 2 succeeded it.

    Broker 1 does not know this: it answers with what it knew, and cannot write.
    """

    def __init__(self, stale: Entry, true: Entry) -> None:
        super().__init__("split", KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]}))
        self._topics = {ONE.topic: Topic(TARGET, {0: Leader(2, 0)})}
        self._brokers = {1: ("one", 1), 2: ("two", 2)}
        self._coordinators = dict.fromkeys(((GROUP, group) for group in groups_of(ROUTE)), 1)
        self._knows = {1: encode(stale), 2: encode(true)}
        self._pending = self._knows[2]

    async def send(self, node: int, request: Any, purpose: str = "control") -> Any:
        match type(request).__name__:
            case "FindCoordinatorRequest":
                return SimpleNamespace(error_code=0, coordinator_id=2)
            case "OffsetFetchRequest":
                row = (0, *self._knows[node], 0)
                return SimpleNamespace(error_code=0, topics=[(ONE.topic, [row])])
            case "TxnOffsetCommitRequest":
                code = Code.COORDINATOR_NOT_AVAILABLE if node == 1 else 0
                for topic, [(_, *offset)] in request._topics:
                    if topic == ONE.topic and not code:
                        self._pending = tuple(offset)
                return SimpleNamespace(errors=[(ONE.topic, [(0, code)])])
            case "EndTxnRequest" if request._transaction_result:
                self._knows[2] = self._pending
            case "InitProducerIdRequest":
                return SimpleNamespace(error_code=0, producer_id=7, producer_epoch=5)
        return SimpleNamespace(error_code=0)

    async def log_start(self, topic: str, partition: int) -> int:
        return 0

    async def log_end(self, topic: str, partition: int) -> int:
        return 900


async def test_an_entry_that_only_a_coordinator_of_yesterday_has_is_not_believed():
    true = replace(HELD, custody=Custody.RELEASED, source_offset=500, target_offset=800)
    stale = replace(true, transactional_id="sluice.west.east.2", source_offset=10)
    target = Split(stale, true)
    taker = Takeover(
        ledger=Ledger(target, ROUTE),
        fenced_committer=FencedCommitter(target, "sluice.west.east.99"),
        source=End(SOURCE, 0, 9000),  # type: ignore[arg-type]
        target=target,
        start="earliest",
        tell=lambda _: asyncio.sleep(0),
    )
    acquired = await taker.acquire([ONE])
    assert acquired.taken[ONE].entry.source_offset == 500


async def test_a_loss_that_was_accepted_is_not_taken_for_another_one(monkeypatch):
    """Another takeover let the partition continue: by now it is parked anew, or held."""
    listed = Loss(LossKind.SOURCE_CORRUPT, 10, None)
    for parked in (Loss(LossKind.RECORDS_REFUSED, 20, 21), None):
        book = EntriesById({ONE: replace(ENTRY, parked=parked)})
        source, target = End(SOURCE, 0, 9000), End(TARGET, 0, 100)
        taker = a_taker(monkeypatch, book, source, target, accept={ONE: listed})
        acquired = await taker.acquire([ONE])
        assert not acquired.taken
        assert "changed" in acquired.waiting[ONE]
