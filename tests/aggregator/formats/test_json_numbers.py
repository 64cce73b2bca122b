"""Numbers of decimals and times: every digit arrives, or the record is a dead letter."""

import json
from decimal import Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aggregator.formats.json_documents import decode
from tests.aggregator.formats.slices import slice_of, table

KINDS = {
    "plain": "Decimal(38, 10)",
    "list": "Array(Decimal(38, 10))",
    "holes": "Array(Nullable(Decimal(38, 10)))",
    "nested": "Array(Array(Decimal(38, 10)))",
    "maybe": "Nullable(Decimal(38, 10))",
}
SCHEMA = table(**KINDS, n="UInt8")
FORMS = {
    "plain": "%s",
    "list": "[1, %s, 2]",
    "holes": "[null, %s]",
    "nested": "[[], [0.5, %s]]",
    "maybe": "%s",
}
PLACES = {
    "plain": lambda held: held,
    "list": lambda held: held[1],
    "holes": lambda held: held[1],
    "nested": lambda held: held[1][1],
    "maybe": lambda held: held,
}


@st.composite
def numbers(draw):
    """Draws the text of a JSON number."""
    whole = draw(st.integers(0, 10 ** draw(st.integers(0, 30))))
    text = draw(st.sampled_from(["", "-"])) + str(whole)
    if draw(st.booleans()):
        text += "." + draw(st.text("0123456789", min_size=1, max_size=25))
    if draw(st.integers(0, 4)) == 0:
        text += draw(st.sampled_from(["e", "E"])) + str(draw(st.integers(-12, 12)))
    return text


def fits(text):
    number = Decimal(text)
    exact = Context(prec=200)
    ticks = exact.scaleb(number, 10)
    return ticks == exact.to_integral_value(ticks) and abs(number) < Decimal(10) ** 28


@pytest.mark.parametrize("name", KINDS)
@given(texts=st.lists(numbers(), min_size=1, max_size=5))
def test_a_number_arrives_digit_by_digit_or_is_a_dead_letter(name, texts):
    values = [f'{{"n": 1, "{name}": {FORMS[name] % text}}}'.encode() for text in texts]
    decoded = decode([slice_of(values)], SCHEMA)
    held = decoded.columns[name].to_pylist() if name in decoded.columns else []
    found = dict(zip(decoded.offset.tolist(), map(PLACES[name], held), strict=True))
    wanted = {at: Decimal(text) for at, text in enumerate(texts) if fits(text)}
    assert found == wanted
    assert [each.offset for each in decoded.dead] == [
        at for at, text in enumerate(texts) if not fits(text)
    ]


@pytest.mark.parametrize(
    ("kind", "number", "ticks"),
    [
        ("DateTime64(9)", "1577836800.123456789", 1_577_836_800_123_456_789),
        ("DateTime64(9)", "1577836800123456789", 1_577_836_800_123_456_789),
        ("DateTime64(9)", "9999999999999999999", None),
        ("DateTime64(6)", "1577836800.123456789", 1_577_836_800_123_456),
        ("DateTime", "1577836799.99999999999999999", 1_577_836_799),
        ("Decimal(9, 1)", "1.1000000000000000001", None),
        ("Decimal(9, 1)", "1.10000000000000000000", Decimal("1.1")),
        ("Decimal(38, 1)", "99999999999999999.9", Decimal("99999999999999999.9")),
        ("Decimal(38, 1)", "9999999999999999.9e2", Decimal("999999999999999990.0")),
        ("Decimal(38, 37)", "1e-400", None),
        ("Decimal(38, 37)", "-5E-0330", None),
        ("Decimal(9, 1)", "0.0e-400", Decimal("0.0")),
        ("UInt64", "18446744073709551615", 2**64 - 1),
        ("Int64", "-9007199254740993", -9007199254740993),
    ],
)
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_so_do_times_and_long_integers_at_any_depth(kind, number, ticks, depth):
    schema = table(a=f"{'Array(' * depth}{kind}{')' * depth}")
    document = f'{{"a": {"[" * depth}{number}{"]" * depth}}}'.encode()
    decoded = decode([slice_of([document, b'{"a": null, "b": 1}'])], schema)
    held = decoded.columns["a"].to_pylist() if "a" in decoded.columns else []
    for _ in range(depth):
        held = [item for items in held for item in items]
    assert held == ([] if ticks is None else [ticks])
    assert [each.offset for each in decoded.dead] == ([0, 1] if ticks is None else [1])


def test_of_repeated_fields_the_first_number_counts_and_texts_stay_texts():
    document = b'{"plain": 1.00000000000000005e5, "plain": 1234567890123456789}'
    text = json.dumps({"plain": "0.1", "other": "1234567890.1234567890"}).encode()
    decoded = decode([slice_of([document, text])], SCHEMA)
    assert decoded.columns["plain"].to_pylist() == [Decimal("0.1")]
    assert "100000.000000000005" in decoded.dead[0].reason


@pytest.mark.parametrize("kind", ["Decimal(9, 1)", "DateTime64(3)", "Nullable(DateTime)"])
@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize(
    "value",
    [
        "[%s]",
        "[%s, null]",
        "[[%s], 1]",
        "[[[%s]]]",
        '[{"b": %s}]',
        "[true, %s]",
        "[[[true]], %s]",
    ],
)
def test_a_long_number_in_a_value_of_another_shape_makes_a_dead_letter_alone(kind, depth, value):
    schema = table(a=f"{'Array(' * depth}{kind}{')' * depth}", n="UInt8")
    long = value % "15778368.10000000000000000000"
    decoded = decode(
        [slice_of([f'{{"n": 1, "a": {each}}}'.encode() for each in (long, value % "1")])], schema
    )
    # What becomes of the value does not depend on how many digits its number has.
    assert [each.offset for each in decoded.dead] in ([], [0, 1])
    assert decoded.dead or depth
