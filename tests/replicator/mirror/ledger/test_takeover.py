"""A takeover parks what is lost or in doubt, and an id without an answer holds up no other."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, ClassVar
from uuid import UUID

import pytest

from balancer.topic_partition import TopicPartition
from replicator.config.topology import KafkaCluster, Route
from replicator.kafka.client.cluster import Cluster, Fenced, ProducerState, ProducerStateLost
from replicator.kafka.client.cluster_metadata import Leader, Topic
from replicator.kafka.client.fenced_committer import FencedCommitter
from replicator.kafka.client.loss import Loss, LossKind, NeededLimit
from replicator.kafka.protocol.error_codes import Code
from replicator.mirror.ledger.entry import Begin, Custody, Entry, decode, encode
from replicator.mirror.ledger.id_attempts import IdAttempts
from replicator.mirror.ledger.ledger import Ledger
from replicator.mirror.ledger.published_runs import runs_key
from replicator.mirror.ledger.takeover import Takeover
from replicator.mirror.offset_map.runs_tail import LastRun
from tests.replicator.mirror.ledger.ends import (
    SOURCE,
    TARGET,
    CommitterStandIn,
    End,
    EntriesById,
    a_takeover,
    batch,
    marker,
)
from tests.replicator.mirror.ledger.held import held

ROUTE = Route("west", "east")
ONE = TopicPartition("flights", 0)
ENTRY = held(source_offset=10, target_offset=100, transactional_id="sluice.west.east.3")
HELD = replace(ENTRY, producer_id=7, epoch=3, sequence=50, source_topic=SOURCE, target_topic=TARGET)


@pytest.mark.parametrize("accept", [(), (ONE,)], ids=["", "accepted"])
async def test_records_missing_in_the_target_park_the_partition_and_are_skipped_once_accepted(
    accept,
):
    log = batch(100, (7, 3), 50, 10) + batch(110, (7, 3), 65, 5) + marker(115, (7, 5))
    entries = EntriesById({ONE: HELD})
    target = End(TARGET, 0, 115, {7: ProducerState(3, 69)}, log)
    takeover = a_takeover(entries, End(SOURCE, 0, 9000), target, accept=dict.fromkeys(accept))
    acquired = await takeover.acquire([ONE])
    if accept:
        assert acquired.taken[ONE].entry.source_offset == 30
        (loss,) = acquired.taken[ONE].accepted
        assert (loss.kind, loss.begin, loss.end) == (LossKind.BATCH_MISSING, 20, 25)
    else:
        assert "source offsets [20, 25)" in acquired.parked[ONE]
        assert entries[ONE].parked


class PublishedRuns:
    """A runs topic by which source offsets up to `end` stand in the target before `target_end`."""

    def __init__(self, entry: Entry, end: int, target_end: int = 118) -> None:
        self._published = {runs_key(ONE, entry): LastRun(end, target_end)}

    async def published_since(self, positions):
        return self._published


@pytest.mark.parametrize("accept", [(), (ONE,)], ids=["", "accepted"])
@pytest.mark.parametrize("custody", [Custody.HELD, Custody.RELEASED])
async def test_an_entry_older_than_the_published_runs_parks_and_is_skipped_once_accepted(
    custody, accept
):
    entry = replace(HELD, custody=custody, runs=(7,))
    entries = EntriesById({ONE: entry})
    target = End(TARGET, 0, 120, {}, batch(100, (7, 3), 50, 10) + marker(110, (7, 5)))
    runs = PublishedRuns(entry, 500)
    published: list[Any] = []

    async def tell(segments):
        published.append(segments)

    source = End(SOURCE, 0, 9000)
    takeover = a_takeover(
        entries, source, target, accept=dict.fromkeys(accept), runs=runs, tell=tell
    )
    acquired = await takeover.acquire([ONE])
    landed = 20 if custody is Custody.HELD else 10
    if accept:
        assert acquired.taken[ONE].entry.source_offset == 500
        (loss,) = acquired.taken[ONE].accepted
        assert (loss.kind, loss.begin, loss.end) == (LossKind.LEDGER_TURNED_BACK, landed, 500)
        assert not published, "the runs topic has them, and these would overrule them"
    else:
        assert (
            f"older than what was mirrored: source offsets [{landed}, 500)"
            in (acquired.parked[ONE])
        )
        assert entries[ONE].parked and entries[ONE].runs == (7,)


@pytest.mark.parametrize("restart_at", [10, 300, 500])
async def test_an_operator_may_carry_published_records_again(restart_at):
    entry = replace(HELD, custody=Custody.RELEASED, runs=(7,))
    source, target = End(SOURCE, 0, 9000), End(TARGET, 0, 120)
    runs = PublishedRuns(entry, 500)
    more = {"accept": {ONE: None}, "runs": runs, "restart_at": restart_at}
    takeover = a_takeover(EntriesById({ONE: entry}), source, target, **more)
    assert (await takeover.acquire([ONE])).taken[ONE].entry.source_offset == restart_at


async def test_a_target_that_is_recreated_after_it_was_examined_is_not_gone_on_with():
    """The new entry keeps the id that was examined: the next Produce is refused."""
    entry = replace(HELD, custody=Custody.RELEASED)
    source, target = End(SOURCE, 0, 9000), End(TARGET, 0, 120)

    async def recreated(topic, partition):
        target.topic_id = UUID(int=99)
        return source.end

    source.log_end = recreated  # the source is examined after the target
    taken = (await a_takeover(EntriesById({ONE: entry}), source, target).acquire([ONE])).taken
    assert target.topic_id != TARGET
    assert taken[ONE].entry.target_topic == TARGET


async def test_the_new_entry_counts_more_losses_than_the_runs_published_before():
    entry = replace(HELD, custody=Custody.RELEASED, runs=(7,))
    runs = PublishedRuns(replace(entry, losses=3), 500)
    source, target = End(SOURCE, 0, 9000), End(TARGET, 0, 120)
    takeover = a_takeover(EntriesById({ONE: entry}), source, target, accept={ONE: None}, runs=runs)
    assert (await takeover.acquire([ONE])).taken[ONE].entry.losses == 4


@pytest.mark.parametrize(("end", "target_end"), [(20, 110), (500, 5000)])
async def test_runs_of_the_tail_and_runs_that_the_target_lost_do_not_make_an_entry_stale(
    end, target_end
):
    entry = replace(HELD, runs=(7,))
    target = End(TARGET, 0, 111, {}, batch(100, (7, 3), 50, 10) + marker(110, (7, 5)))
    runs = PublishedRuns(entry, end, target_end)
    source = End(SOURCE, 0, 9000)
    acquired = await a_takeover(EntriesById({ONE: entry}), source, target, runs=runs).acquire([ONE])
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
async def test_a_topic_that_the_source_does_not_show_yet_is_waited_for(source, words):
    entries = EntriesById({ONE: replace(HELD, custody=Custody.RELEASED)})
    before = dict(entries)
    acquired = await a_takeover(entries, source, End(TARGET, 0, 100)).acquire([ONE])
    assert words in acquired.waiting[ONE]
    assert entries == before


async def test_a_topic_that_the_source_has_not_shown_for_long_was_deleted():
    entries = EntriesById({ONE: replace(HELD, custody=Custody.RELEASED)})
    source = End(SOURCE, 0, 9000, shows=False, missing=10.0)
    acquired = await a_takeover(entries, source, End(TARGET, 0, 100)).acquire([ONE])
    assert "source topic was deleted" in acquired.parked[ONE]


async def test_an_accepted_topic_deletion_is_not_checked_again():
    entries = EntriesById({ONE: replace(HELD, custody=Custody.RELEASED)})
    source = End(SOURCE, 0, 9000, shows=False)
    takeover = a_takeover(entries, source, End(TARGET, 0, 100), accept={ONE: None})
    acquired = await takeover.acquire([ONE])
    assert "source topic was deleted" in str(acquired.taken[ONE].accepted)


# -- ids that do not answer

PARTITIONS = [TopicPartition("flights", number) for number in range(10)]
SILENT = "sluice.west.east.3.free"


class Muted(CommitterStandIn):
    """A committer that never gets an answer for one id."""

    asked: ClassVar[list[str]] = []

    async def open(self):
        self.asked.append(self.transactional_id)
        if self.transactional_id == SILENT:
            await asyncio.Event().wait()
        return self


def ten_ids() -> EntriesById:
    free = replace(HELD, custody=Custody.RELEASED)
    return EntriesById(
        {
            p: replace(free, transactional_id=f"sluice.west.east.{p.partition}.free")
            for p in PARTITIONS
        }
    )


async def test_an_id_without_an_answer_does_not_hold_up_the_other_ids():
    entries = ten_ids()
    attempts = IdAttempts(0.3, shuffle=lambda ids: ids.sort())
    takeover = a_takeover(
        entries, End(SOURCE, 0, 9000), End(TARGET, 0, 100), Muted, attempts=attempts
    )
    first = await takeover.acquire(PARTITIONS)
    assert set(first.taken) == set(PARTITIONS[:3])
    assert set(first.waiting) == set(PARTITIONS[3:])
    assert all(SILENT in reason for reason in first.waiting.values())
    Muted.asked.clear()
    second = await takeover.acquire(first.waiting)
    assert SILENT not in Muted.asked, "something was taken, and nothing of it carried meanwhile"
    assert set(second.taken) == set(PARTITIONS[4:])
    assert set(second.waiting) == {PARTITIONS[3]}
    third = await takeover.acquire(second.waiting)
    assert set(third.waiting) == {PARTITIONS[3]}
    assert {p for p, entry in entries.items() if entry.custody is Custody.HELD} == (
        first.taken.keys() | second.taken.keys()
    )


async def test_a_commit_without_an_answer_is_found_as_our_own():
    entries = EntriesById(
        {ONE: replace(HELD, transactional_id="sluice.west.east.99", producer_id=8)}
    )
    own = CommitterStandIn("sluice.west.east.99", 8, 4)

    class Unanswered(EntriesById):
        async def replace(self, holder, before, after):
            entries.update(after)
            await asyncio.Event().wait()

    source = End(SOURCE, 0, 9000)
    target = End(TARGET, 0, 161, log=batch(100, (6, 0), 0, 60) + marker(160, (8, 4)))
    lost = a_takeover(
        Unanswered(entries), source, target, fenced_committer=own, attempts=IdAttempts(0.3)
    )
    assert "sluice.west.east.99" in (await lost.acquire([ONE])).waiting[ONE]
    own.fenced.clear()
    again = a_takeover(entries, source, target, fenced_committer=own)
    assert (await again.acquire([ONE])).taken[ONE].entry == entries[ONE]
    assert own.fenced == []


async def test_a_partition_that_this_producer_gave_up_is_not_acquired_again_without_a_fence():
    nowhere = Cluster("nowhere", KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]}))
    own = FencedCommitter(nowhere, "sluice.west.east.99")
    own.producer_id, own.epoch = 8, 4
    held = {"transactional_id": "sluice.west.east.99", "producer_id": 8, "epoch": 4}
    entries = EntriesById({ONE: replace(HELD, **held)})
    source, target = End(SOURCE, 0, 9000), End(TARGET, 0, 161)
    takeover = a_takeover(entries, source, target, fenced_committer=own)
    assert (await takeover.acquire([ONE])).taken[ONE].entry.sequence == 50
    own.left_at(ONE, 70)  # parked, but the entry could not be committed
    with pytest.raises(ProducerStateLost, match="flights-0 was given up"):
        await takeover.acquire([ONE])


async def test_an_id_that_another_carrier_opened_first_is_tried_again_after_a_pause():
    opened: list[str] = []

    class Beaten(CommitterStandIn):
        async def open(self):
            opened.append(self.transactional_id)
            if len(opened) <= 6:
                raise Fenced("another carrier was faster")
            return self

    pauses: list[float] = []

    class Impatient(IdAttempts):
        def backoff_seconds(self, transactional_id: str) -> float:
            pauses.append(super().backoff_seconds(transactional_id))
            return 0.0

    takeover = a_takeover(
        EntriesById({ONE: replace(HELD, custody=Custody.RELEASED)}),
        End(SOURCE, 0, 9000),
        End(TARGET, 0, 100),
        Beaten,
        attempts=Impatient(jitter=lambda: 1.0),
    )
    assert ONE in (await takeover.acquire([ONE])).taken
    assert len(opened) == 7
    assert pauses == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 3.2])


async def test_a_partition_that_another_carrier_acquires_meanwhile_is_spared_on_request():
    free = replace(HELD, custody=Custody.RELEASED, transactional_id="sluice.west.east.99.handed")
    entries = EntriesById({ONE: free})

    class Late(CommitterStandIn):
        async def open(self):
            entries[ONE] = HELD
            return self

    def held(shown):
        return {partition for partition, entry in shown.items() if entry.custody is Custody.HELD}

    takeover = a_takeover(entries, End(SOURCE, 0, 9000), End(TARGET, 0, 100), Late)
    acquired = await takeover.acquire([ONE], held)
    assert (acquired.spared, acquired.taken, entries) == ({ONE}, {}, {ONE: HELD})


# -- a coordinator that is cut off from its peers


class Split(Cluster):
    """A cluster whose broker 1 was the coordinator of all groups, until broker 2 succeeded it.

    Broker 1 does not know this: it answers with what it knew, and cannot write. Broker 2 is found
    once a write was refused.
    """

    def __init__(self, stale: Entry, true: Entry) -> None:
        super().__init__("split", KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]}))
        self._knows = {1: encode(stale), 2: encode(true)}
        self._pending = self._knows[2]
        self._was_refused = False

    @property
    def nodes(self) -> list[int]:
        return [1, 2]

    def topic(self, name: str) -> Topic | None:
        return Topic(TARGET, {0: Leader(2, 0)}) if name == ONE.topic else None

    async def send(self, node: int, request: Any, purpose: str = "control") -> Any:
        match type(request).__name__:
            case "FindCoordinatorRequest":
                return SimpleNamespace(error_code=0, coordinator_id=1 + self._was_refused)
            case "OffsetFetchRequest":
                row = (0, *self._knows[node], 0)
                return SimpleNamespace(error_code=0, topics=[(ONE.topic, [row])])
            case "PendingOffsetsRequest":
                return SimpleNamespace(groups={})
            case "TxnOffsetCommitRequest":
                code = Code.COORDINATOR_NOT_AVAILABLE if node == 1 else 0
                self._was_refused |= node == 1
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


async def test_an_entry_that_only_a_former_coordinator_has_is_not_used():
    true = replace(HELD, custody=Custody.RELEASED, source_offset=500, target_offset=800)
    stale = replace(true, transactional_id="sluice.west.east.2", source_offset=10)
    target = Split(stale, true)
    takeover = Takeover(
        ledger=Ledger(target, ROUTE),
        fenced_committer=FencedCommitter(target, "sluice.west.east.99"),
        source=End(SOURCE, 0, 9000),  # type: ignore[arg-type]
        target=target,
        start="earliest",
        tell=lambda _: asyncio.sleep(0),
    )
    acquired = await takeover.acquire([ONE])
    assert acquired.taken[ONE].entry.source_offset == 500


async def test_an_accepted_loss_does_not_release_a_partition_parked_for_another_one():
    """Another takeover let the partition continue: by now it is parked anew, or held."""
    listed = Loss(LossKind.SOURCE_CORRUPT, 10, None)
    for parked in (Loss(LossKind.RECORDS_REFUSED, 20, 21), None):
        entries = EntriesById({ONE: replace(ENTRY, parked=parked)})
        source, target = End(SOURCE, 0, 9000), End(TARGET, 0, 100)
        takeover = a_takeover(entries, source, target, accept={ONE: listed})
        acquired = await takeover.acquire([ONE])
        assert not acquired.taken
        assert "changed" in acquired.waiting[ONE]


@pytest.mark.parametrize(
    ("begin", "first"),
    [
        (None, 9000),
        (Begin(0), 20),
        (Begin(700, SOURCE), 700),
        # The topic was made anew since: all its records came later.
        (Begin(700, TARGET), 20),
    ],
)
async def test_a_partition_begins_where_its_adoption_says(begin, first):
    entry = held(custody=Custody.VIRGIN, source_offset=0, transactional_id="sluice.west.east.free")
    entry = replace(entry, begin=begin)
    assert decode(*encode(entry)) == entry
    source, target = End(SOURCE, 20, 9000), End(TARGET, 0, 0)
    takeover = a_takeover(EntriesById({ONE: entry}), source, target, start="latest")
    taken = (await takeover.acquire([ONE])).taken[ONE].entry
    assert taken.source_offset == first
    assert taken.begin is None


async def test_records_that_expired_after_the_moment_of_latest_are_a_loss():
    entry = held(custody=Custody.VIRGIN, source_offset=0, transactional_id="sluice.west.east.free")
    entries = EntriesById({ONE: replace(entry, begin=Begin(700, SOURCE))})
    source, target = End(SOURCE, 800, 9000), End(TARGET, 0, 0)
    acquired = await a_takeover(entries, source, target, start="latest").acquire([ONE])
    assert "[700, 800)" in acquired.parked[ONE]


def too_large(needs: NeededLimit | None, text: str = "") -> Entry:
    """Returns the entry of a partition that is parked at a record, as another session wrote it."""
    loss = Loss(LossKind.RECORD_TOO_LARGE, 10, 11, text, needs)
    entry = replace(HELD, custody=Custody.RELEASED).park(loss)
    return decode(*encode(entry))


OLD_TEXT = "the record at source offset 10 is a batch of 5000 bytes, the target takes 900"


@pytest.mark.parametrize(
    "parked",
    [too_large(NeededLimit(5000)), too_large(NeededLimit(5000, 6000)), too_large(None, OLD_TEXT)],
    ids=["found", "refused", "of an earlier version"],
)
@pytest.mark.parametrize("limit", [4999, 5000])
async def test_a_record_that_parked_its_partition_is_carried_once_the_target_takes_it(
    parked, limit
):
    entries = EntriesById({ONE: parked})
    ends = End(SOURCE, 0, 9000), End(TARGET, 0, 100)
    acquired = await a_takeover(entries, *ends, limits={"flights": limit}).acquire([ONE])
    if limit < 5000:
        assert ONE in acquired.parked
        assert entries[ONE] == parked
    else:
        assert acquired.taken[ONE].entry.source_offset == 10, "nothing was skipped"
        assert acquired.taken[ONE].accepted == ()
        assert (entries[ONE].parked, entries[ONE].needs) == (None, None)


async def test_a_session_leaves_what_it_parked_itself_to_the_next_one():
    loss = Loss(LossKind.RECORDS_REFUSED, 10, 11, "MESSAGE_TOO_LARGE", NeededLimit(5000, 6000))
    own = replace(HELD, producer_id=8, epoch=0, transactional_id="sluice.west.east.99").park(loss)
    ends = End(SOURCE, 0, 9000), End(TARGET, 0, 100)
    acquired = await a_takeover(EntriesById({ONE: own}), *ends, limits={"flights": 6000}).acquire(
        [ONE]
    )
    assert ONE in acquired.parked


def refused(detail: str, **entry: object) -> Entry:
    """Returns the entry of a partition that is parked at a refused record."""
    loss = Loss(LossKind.RECORDS_REFUSED, 10, 11, detail)
    return decode(*encode(replace(HELD, custody=Custody.RELEASED, **entry).park(loss)))


KEYLESS = "INVALID_RECORD: Compacted topic cannot accept message without key"


@pytest.mark.parametrize("detail", [KEYLESS, "INVALID_TIMESTAMP: too old"])
@pytest.mark.parametrize("refusing", [(), ("INVALID_RECORD", "INVALID_TIMESTAMP")])
async def test_a_record_that_a_config_refused_is_carried_once_the_config_is_gone(detail, refusing):
    entries = EntriesById({ONE: refused(detail)})
    ends = End(SOURCE, 0, 9000), End(TARGET, 0, 100)
    acquired = await a_takeover(entries, *ends, refusing={"flights": refusing}).acquire([ONE])
    if refusing:
        assert ONE in acquired.parked
    else:
        assert acquired.taken[ONE].entry.source_offset == 10, "nothing was skipped"
        assert acquired.taken[ONE].accepted == ()
        assert entries[ONE].parked is None


@pytest.mark.parametrize(
    ("detail", "refusing"),
    [
        ("POLICY_VIOLATION: not allowed", {"flights": ()}),
        (KEYLESS, {"flights": ("INVALID_RECORD",)}),
        (KEYLESS, {}),
    ],
    ids=["no config", "still compacted", "not known"],
)
async def test_a_refused_record_stays_parked_unless_its_config_is_known_to_be_gone(
    detail, refusing
):
    parked = refused(detail)
    entries = EntriesById({ONE: parked})
    ends = End(SOURCE, 0, 9000), End(TARGET, 0, 100)
    acquired = await a_takeover(entries, *ends, refusing=refusing).acquire([ONE])
    assert ONE in acquired.parked
    assert entries[ONE] == parked


async def test_no_limit_lets_a_partition_go_on_that_is_parked_for_another_loss():
    other = replace(HELD, custody=Custody.RELEASED).park(Loss(LossKind.SOURCE_CORRUPT, 10, 11))
    ends = End(SOURCE, 0, 9000), End(TARGET, 0, 100)
    entries = EntriesById({ONE: other})
    acquired = await a_takeover(entries, *ends, limits={"flights": 1 << 30}).acquire([ONE])
    assert ONE in acquired.parked
