"""Instances whose best packing is known, or nearly known, from the way they are made."""

from __future__ import annotations

import numpy as np

from balancer.packing.shares import Carriers, Shares


def planted(carriers: int, each: int, seed: int) -> Shares:
    """Returns items that fill each carrier to 1.0, `each` of them on every carrier.

    No packing has a heaviest carrier below 1.0.
    """
    random = np.random.default_rng([seed, carriers, each])
    cuts = np.sort(random.random((carriers, each - 1)), axis=1)
    edges = np.hstack([np.zeros((carriers, 1)), cuts, np.ones((carriers, 1))])
    return random.permutation(np.diff(edges, axis=1).ravel())


def uniform(items: int, seed: int) -> Shares:
    """Returns Falkenauer's U type (1996): whole numbers of 20 to 100, for a capacity of 150."""
    return np.random.default_rng([seed, items]).integers(20, 101, items).astype(np.float64)


def triplets(items: int, seed: int) -> Shares:
    """Returns Falkenauer's T type (1996), for a capacity of 1000.

    In the best packing items / 3 carriers hold three items each; none holds four or has room left.
    """
    random = np.random.default_rng([seed, items])
    found: list[int] = []
    for _ in range(items // 3):
        first = int(random.integers(380, 491))
        second = int(random.integers(250, (1000 - first) // 2 + 1))
        found += [first, second, 1000 - first - second]
    return random.permutation(np.array(found, dtype=np.float64))


def lognormal(items: int, seed: int, sigma: float = 1.0) -> Shares:
    """Returns shares like those of real topics: a few partitions have most of the traffic."""
    return np.random.default_rng([seed, items]).lognormal(0.0, sigma, items)


def drifted(shares: Shares, drift: float, seed: int) -> Shares:
    """Returns the shares after a while, each higher or lower by about the part `drift`."""
    random = np.random.default_rng([seed, 77])
    return shares * np.exp(random.normal(0.0, drift, len(shares)))


def loads_of(shares: Shares, where: Carriers, carriers: int) -> Shares:
    """Returns the load of each carrier, computed without any code of the packing."""
    loads = np.zeros(carriers)
    for share, carrier in zip(shares.tolist(), where.tolist(), strict=True):
        loads[carrier] += share
    return loads
