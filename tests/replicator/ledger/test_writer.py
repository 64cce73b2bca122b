"""What a writer commits is read back: a coordinator may call a transaction complete that is not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from replicator.config.topology import KafkaCluster
from replicator.kafka.cluster import Cluster, Commit
from replicator.ledger import writer as writing
from replicator.ledger.writer import Row, Writer

OLD, NEW, NEXT = ("t", 0, 1, "old"), ("t", 0, 2, "new"), ("t", 0, 3, "next")
OTHER = ("t", 1, 7, "other")
Offsets = dict[str, list[Row]]


class Coordinator(Cluster):
    """Of all groups and ids; some transactions are completed without what they committed.

    Args:
        shown: what readers find, by group.
        left_out: the groups whose markers each of the first transactions leaves out.
        put_behind: what the next one commits right behind the first transaction.
    """

    def __init__(self, shown: Offsets, left_out: list[set[str]], put_behind: Offsets | None = None):
        super().__init__("pretend", KafkaCluster.model_validate({"bootstrap": ["127.0.0.1:1"]}))
        self.shown = {
            (group, *row[:2]): Commit(*row[2:]) for group, rows in shown.items() for row in rows
        }
        self.ended: list[tuple[bool, Offsets]] = []
        self._left_out = left_out
        self._put_behind = put_behind or {}
        self._pending: Offsets = {}

    async def ask_coordinator(
        self, kind: int, key: str, request: Any, *_: Any, never: object = None
    ) -> Any:
        match type(request).__name__:
            case "TxnOffsetCommitRequest":
                rows = [(topic, *row) for topic, rows in request._topics for row in rows]
                self._pending.setdefault(request._group_id, []).extend(rows)
            case "EndTxnRequest":
                self._end(request._transaction_result)
        return SimpleNamespace(error_code=0)

    def _end(self, commit: bool) -> None:
        self.ended.append((commit, self._pending))
        if commit:
            left_out = self._left_out.pop(0) if self._left_out else set()
            self._show({g: rows for g, rows in self._pending.items() if g not in left_out})
        self._show(self._put_behind)
        self._put_behind, self._pending = {}, {}

    def _show(self, groups: Offsets) -> None:
        for group, rows in groups.items():
            for row in rows:
                self.shown[group, *row[:2]] = Commit(*row[2:])

    async def commits(self, group: str, partitions: Any) -> dict[tuple[str, int], Commit]:
        return {
            (topic, number): self.shown[group, topic, number]
            for topic, numbers in partitions
            for number in numbers
            if (group, topic, number) in self.shown
        }


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "SHOWN_SECONDS", 0.0)


def is_old(shown: Commit | None) -> bool:
    return shown is None or shown.metadata == "old"


async def committed(coordinator: Coordinator, groups: Offsets) -> list[tuple[bool, Offsets]]:
    """The transactions that it took."""
    await Writer(coordinator, "id").commit(groups, is_old)
    return coordinator.ended


async def test_what_is_shown_is_committed_once():
    coordinator = Coordinator({"g": [OLD]}, [])
    assert await committed(coordinator, {"g": [NEW]}) == [(True, {"g": [NEW]})]


@pytest.mark.parametrize("before", [[OLD], []], ids=["an entry", "nothing"])
async def test_what_stays_hidden_is_committed_until_it_is_shown(before):
    coordinator = Coordinator({"g": before}, [{"g"}, {"g"}])
    assert await committed(coordinator, {"g": [NEW]}) == 3 * [(True, {"g": [NEW]})]
    assert coordinator.shown["g", "t", 0] == Commit(2, "new")


async def test_only_what_stayed_hidden_is_committed_again():
    coordinator = Coordinator({"g": [OLD], "h": [OTHER]}, [{"g"}])
    groups: Offsets = {"g": [NEW], "h": [OTHER]}
    assert await committed(coordinator, groups) == [(True, groups), (True, {"g": [NEW]})]


async def test_who_came_next_is_not_written_over():
    coordinator = Coordinator({"g": [OLD], "h": []}, [{"h"}], {"g": [NEXT]})
    await committed(coordinator, {"g": [NEW], "h": [OTHER]})
    assert coordinator.shown["g", "t", 0] == Commit(3, "next")
    assert coordinator.shown["h", "t", 1] == Commit(7, "other")


async def test_a_marker_that_was_only_late_is_not_followed_by_a_second_commit():
    """It is shown between the read that missed it and the transaction that follows."""

    class Late(Coordinator):
        async def ask_coordinator(self, kind: int, key: str, request: Any, *_: Any, **more: Any):
            if self.ended and type(request).__name__ == "AddOffsetsToTxnRequest":
                self._show({"g": [NEXT]})
            return await super().ask_coordinator(kind, key, request, *_, **more)

    coordinator = Late({"g": [OLD]}, [{"g"}])
    assert await committed(coordinator, {"g": [NEW]}) == [
        (True, {"g": [NEW]}),
        (False, {"g": [NEW]}),
    ]
    assert coordinator.shown["g", "t", 0] == Commit(3, "next")
