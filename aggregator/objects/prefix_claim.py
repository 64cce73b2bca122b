"""Prefix claim: the object that says which feed and cluster write below a prefix.

Offsets are those of a cluster, and names those of topics and offsets: of two writers each would
find names taken that are its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Self

CLAIM = "_sluice_claim.json"
"""Name of the object; readers of a tree leave out names that begin so."""


class UnreadableClaim(ValueError):
    """The object is no claim, or one of a later version."""


@dataclass(frozen=True, slots=True)
class PrefixClaim:
    """Claim of a prefix.

    Args:
        cluster: its name, for people.
        cluster_id: as Kafka tells it.
    """

    feed: str
    cluster: str
    cluster_id: str

    def is_same(self, other: PrefixClaim) -> bool:
        """Returns True for a claim of the same feed and cluster, whatever its name is."""
        return (self.feed, self.cluster_id) == (other.feed, other.cluster_id)

    def encode(self) -> bytes:
        """Returns the content of the object."""
        fields = {"feed": self.feed, "cluster": self.cluster, "cluster_id": self.cluster_id}
        return json.dumps(fields, ensure_ascii=False, indent=2).encode() + b"\n"

    @classmethod
    def decode(cls, content: bytes) -> Self:
        """Returns the claim of a content. Raises UnreadableClaim."""
        try:
            fields = json.loads(content)
            texts = [fields[name] for name in ("feed", "cluster", "cluster_id")]
            if not all(isinstance(each, str) for each in texts):
                raise TypeError("a field is no text")
        except (ValueError, KeyError, TypeError) as error:
            raise UnreadableClaim(f"no claim of a feed ({error})") from error
        return cls(*texts)

    def __str__(self) -> str:
        return f"feed {self.feed} of {self.cluster} (cluster id {self.cluster_id})"


def below(prefix: str, name: str) -> str:
    """Returns the key of a name below a prefix.

    Args:
        prefix: without a slash at either end; empty: none.
    """
    return f"{prefix}/{name}" if prefix else name
