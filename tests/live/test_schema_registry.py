"""Reads of a schema registry: answers, what is no answer, and schemas that refer to others."""

from __future__ import annotations

import base64
import json

import pytest

from aggregator.formats.avro_schema import avro_type
from aggregator.schemas.schema_registry import NoAvroSchema, SchemaRegistry, SchemasAway
from tests.aggregator.files.schema_records import FIRST
from tests.live.registry_server import RegistryServer

MONEY = {"type": "record", "name": "a.Money", "fields": [{"name": "cents", "type": "long"}]}
PRICE = {"type": "record", "name": "b.Price", "fields": [{"name": "net", "type": "a.Money"}]}
SALE = {
    "type": "record",
    "name": "Sale",
    "fields": [{"name": "price", "type": "b.Price"}, {"name": "paid", "type": "a.Money"}],
}


@pytest.fixture
def server():
    with RegistryServer({1: FIRST}) as opened:
        yield opened


def test_a_schema_is_read_by_its_id(server):
    registry = SchemaRegistry(url=server.url)
    assert json.loads(registry.schema(1)) == FIRST
    assert registry.schema(2) is None
    assert server.asked == ["/schemas/ids/1", "/schemas/ids/2"]


def test_a_schema_has_those_that_it_refers_to_within(server):
    def reference(name, subject, version):
        return {"name": name, "subject": subject, "version": version}

    server.answers[7] = {
        "schema": json.dumps(SALE),
        "references": [reference("b.Price", "prices", 2), reference("a.Money", "money-value", 1)],
    }
    server.subjects["prices", 2] = {
        "schema": json.dumps(PRICE),
        "references": [reference("a.Money", "money-value", 1)],
    }
    server.subjects["money-value", 1] = {"schema": json.dumps(MONEY)}
    kind = avro_type(SchemaRegistry(url=server.url).schema(7).encode())
    assert kind.names == ("price", "paid")
    assert [part.name for part in kind.parts] == ["b.Price", "a.Money"]
    assert kind.parts[0].parts[0].names == ("cents",)


def test_a_user_and_the_present_password_are_sent(server, tmp_path):
    path = tmp_path / "password"
    path.write_text("old\n")
    path.chmod(0o600)
    server.authorization = "Basic " + base64.b64encode("mé:sesame".encode()).decode()
    registry = SchemaRegistry(url=server.url, user="mé", password_file=path)
    with pytest.raises(SchemasAway, match="401 Unauthorized"):
        registry.schema(1)
    path.write_text("sesame\n")
    assert registry.schema(1)
    with pytest.raises(SchemasAway, match=r"/schemas/ids/1: 401"):
        SchemaRegistry(url=server.url).schema(1)


def test_no_answer_is_told_from_a_schema_that_nobody_knows(server):
    registry = SchemaRegistry(url=f"{server.url}/elsewhere")
    with pytest.raises(SchemasAway, match=r"elsewhere/schemas/ids/1: 404 Not Found"):
        registry.schema(1)
    server.answers[3] = {"schemaType": "PROTOBUF", "schema": "x"}
    server.answers[4] = {"id": 4}
    registry = SchemaRegistry(url=server.url)
    with pytest.raises(NoAvroSchema, match="schema 3 is of PROTOBUF, and no Avro"):
        registry.schema(3)
    with pytest.raises(SchemasAway, match="the answer for schema 4 has no schema"):
        registry.schema(4)
    server.answers[5] = {"schemaType": None, "references": None, "schema": json.dumps(FIRST)}
    assert json.loads(registry.schema(5)) == FIRST
    for at, reference in enumerate(({}, {"name": "a.Money", "version": 1}, "a.Money", None), 6):
        server.answers[at] = {"schema": json.dumps(SALE), "references": [reference]}
        with pytest.raises(SchemasAway, match="an answer names no reference"):
            registry.schema(at)
    server.stop()
    with pytest.raises(SchemasAway, match="Connection refused"):
        registry.schema(1)
