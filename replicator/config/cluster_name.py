"""Cluster name: a region and the role of its cluster, as one text ("west aggregate")."""

from __future__ import annotations

from typing import Literal, Self, cast, get_args

Role = Literal["regional", "aggregate"]
ROLES: tuple[Role, ...] = get_args(Role)


class ClusterName(str):
    """Name of a configured cluster, such as "west aggregate".

    It is a text, so that logs, errors and stored forms take it as it is.

    Raises:
        ValueError: the text does not end with a role.
    """

    __slots__ = ()

    def __new__(cls, text: str) -> Self:
        if text.rpartition(" ")[2] not in ROLES:
            names = " or ".join(f"<region> {role}" for role in ROLES)
            raise ValueError(f"a cluster is named {names}, not {text!r}")
        return super().__new__(cls, text)

    @classmethod
    def of(cls, region: str, role: Role) -> Self:
        return cls(f"{region} {role}")

    @classmethod
    def regional(cls, region: str) -> Self:
        """Returns the name of the cluster to which a region's producers write."""
        return cls.of(region, "regional")

    @classmethod
    def aggregate(cls, region: str) -> Self:
        """Returns the name of the cluster in which every region's records arrive."""
        return cls.of(region, "aggregate")

    @property
    def region(self) -> str:
        return self.rpartition(" ")[0]

    @property
    def role(self) -> Role:
        return cast(Role, self.rpartition(" ")[2])
