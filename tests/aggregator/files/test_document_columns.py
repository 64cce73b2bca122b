"""Document columns: a topic without a schema, and one whose schema documents cannot have."""

import json

from aggregator.files.document_columns import DocumentColumns
from aggregator.schemas.known_schemas import KnownSchemas
from tests.aggregator.files.schema_records import FIRST
from tests.aggregator.formats.slices import slice_of


def test_documents_of_a_topic_without_a_schema_are_dead_letters():
    known = KnownSchemas({"other.avsc": json.dumps(FIRST).encode()})
    table, reasons = DocumentColumns(known, "t")(slice_of([b"{}", None]))
    assert (table.num_columns, reasons) == (0, {0: "no schema t.avsc"})


def test_a_schema_that_documents_cannot_have_is_named():
    known = KnownSchemas({"t.avsc": b'"int"'})
    decoder = DocumentColumns(known, "t")
    _, reasons = decoder(slice_of([b"5"]))
    assert reasons == {0: "t.avsc: no record, which is what a JSON object becomes"}
    assert decoder.fields.names == []


def test_line_breaks_between_the_parts_of_a_document_change_nothing():
    known = KnownSchemas({"t.avsc": json.dumps(FIRST).encode()})
    decoder = DocumentColumns(known, "t")
    table, reasons = decoder(slice_of([b'{\n"number":\r\n 1,"text":\n"a\\nb"}']))
    assert (table.to_pylist(), reasons) == ([{"number": 1, "text": "a\nb"}], {})
    assert len(decoder.schema) == 8
