"""Values of every type go to the member and come back the same, as keys and as values."""

import datetime
import decimal
import uuid

import pytest
from hazelcast.config import IntType
from hazelcast.core import HazelcastJsonValue
from people import Person, PersonPortable

VALUES = {
    "true": True,
    "int": 42,
    "negative int": -42,
    "float": 1.5,
    "text": "plain",
    "empty text": "",
    "text of many alphabets": "Grüße, 你好, 😀",
    "bytes": bytearray(b"\x00\x01\xff"),
    "uuid": uuid.UUID("01234567-89ab-cdef-0123-456789abcdef"),
    "list": [1, "two", None, [3.0]],
    "date": datetime.date(2024, 2, 29),
    "time": datetime.time(23, 59, 58, 123456),
    "date and time": datetime.datetime(2024, 2, 29, 12, 0, 0, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    "decimal": decimal.Decimal("-1234567890.0987654321"),
    "json": HazelcastJsonValue('{"a": [1, 2, {"b": null}]}'),
    "a pickled set": {1, 2, 3},
    "portable": PersonPortable("Ada", 36),
    "compact": Person("Ada", 36, "London"),
}
INTS = {
    IntType.BYTE: 127,
    IntType.SHORT: 32767,
    IntType.INT: 2**31 - 1,
    IntType.LONG: 2**63 - 1,
    IntType.BIG_INT: 2**200,
}


@pytest.mark.parametrize("kind", VALUES)
def test_round_trip(a_map, kind):
    value = VALUES[kind]
    a_map.set("k", value)
    assert a_map.get("k") == value
    assert a_map.contains_value(value)


@pytest.mark.parametrize("kind", [k for k in VALUES if k not in ("a pickled set", "list", "bytes")])
def test_as_a_key(a_map, kind):
    a_map.set(VALUES[kind], "v")
    assert a_map.get(VALUES[kind]) == "v"
    assert a_map.key_set() == [VALUES[kind]]


@pytest.mark.parametrize("int_type, value", INTS.items(), ids=[f"int type {t}" for t in INTS])
def test_whole_numbers_of_each_width(new_client, name, int_type, value):
    wide = new_client(default_int_type=int_type).get_map(name).blocking()
    # The Python client writes no negative bytes.
    for number in (value, 0) if int_type == IntType.BYTE else (value, -value, 0):
        wide.set("k", number)
        assert wide.get("k") == number
    wide.destroy()


@pytest.mark.parametrize("document", ["{}", "[]", "null", "1", '"text"', '{"a": {"b": [1, 2.5, true, null, "ü"]}}'])
def test_json_documents(a_map, document):
    a_map.set("k", HazelcastJsonValue(document))
    assert a_map.get("k").to_string() == document


def test_json_in_other_structures(a_list, a_queue):
    value = HazelcastJsonValue('{"a": 1}')
    a_list.add(value)
    a_queue.offer(value)
    assert a_list.get(0) == value and a_queue.poll() == value


def test_bytes_that_no_client_knows_are_kept(client, a_map, name):
    """A member stores what it cannot read: the type id here belongs to a serializer of the application."""
    from hazelcast.serialization.data import Data

    odd = Data(b"\x00\x00\x00\x00" + (4711).to_bytes(4, "big") + b"anything")
    raw = client.get_map(name)
    raw._to_data, raw._to_object = (lambda value: value), (lambda value: value)
    raw.set(odd, odd).result()
    assert raw.get(odd).result() == odd
    assert a_map.size() == 1
