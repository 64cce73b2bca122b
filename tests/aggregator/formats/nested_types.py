"""Types with Tuples and Maps for tests, each with JSON's values that fit into it."""

from __future__ import annotations

from hypothesis import strategies as st

SCALARS = {
    "UInt8": st.integers(0, 255),
    "Int64": st.integers(-(2**63), 2**63 - 1),
    "Int128": st.integers(-(2**127), 2**127 - 1),
    "String": st.text('ab\u00e9"\\ {}[]:,\n', max_size=4) | st.sampled_from(["5", "true", "null"]),
    "LowCardinality(String)": st.sampled_from(["", "x", "y"]),
    "Nullable(String)": st.none() | st.text("xy", max_size=2),
    "Nullable(Int32)": st.none() | st.integers(-5, 5),
    "Date": st.dates().map(lambda day: str(day.replace(year=2000 + day.year % 100))),
    "DateTime64(3, 'UTC')": st.sampled_from(["2020-01-01 00:00:00.125", "1999-12-31 23:59:59.5"]),
    "Decimal(20, 4)": st.integers(-(10**15), 10**15).map(lambda ticks: f"{ticks}.0625"[:19]),
    "Enum8('a,b' = 1, '(' = 0)": st.sampled_from(["a,b", "("]),
    "UUID": st.uuids().map(str),
    "IPv4": st.ip_addresses(v=4).map(str),
}
KEYS = ("UInt8", "Int64", "String", "LowCardinality(String)", "Date", "UUID", "IPv4")
NAMES = ("a", "b c", "d.e", "select", "f`g")


def _array(inner):
    kind, values = inner
    return f"Array({kind})", st.lists(values, max_size=3)


def _tuple(inner):
    kinds = ", ".join(kind for kind, _ in inner)
    return f"Tuple({kinds})", st.tuples(*[values for _, values in inner]).map(list)


def _named(inner):
    quoted = ["`" + name.replace("`", "\\`") + "`" for name in NAMES]
    kinds = [f"{name} {kind}" for name, (kind, _) in zip(quoted, inner, strict=False)]
    members = {name: values for name, (_, values) in zip(NAMES, inner, strict=False)}
    # Elements may be missing, and others are ignored.
    objects = st.fixed_dictionaries({}, optional={**members, "other": st.just([{"x": 1}])})
    return f"Tuple({', '.join(kinds)})", objects


def _map(drawn):
    key, (kind, values) = drawn
    return f"Map({key}, {kind})", st.dictionaries(SCALARS[key].map(str), values, max_size=3)


scalars = st.sampled_from(list(SCALARS.items()))
kinds = st.recursive(
    scalars,
    lambda inner: (
        inner.map(_array)
        | st.lists(inner, min_size=1, max_size=3).map(_tuple)
        | st.lists(inner, min_size=1, max_size=3).map(_named)
        | st.tuples(st.sampled_from(KEYS), inner).map(_map)
    ),
    max_leaves=5,
).filter(lambda drawn: "Tuple" in drawn[0] or "Map" in drawn[0])
"""A type, and a strategy of JSON's values for it."""
