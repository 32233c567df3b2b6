"""Compact values: the member keeps the schemas, and clients that never saw one can ask for it."""

from hazelcast.config import IntType
from hazelcast.predicate import equal
from hazelcast.serialization.api import CompactSerializer
from people import Person


def test_a_client_without_the_schema_reads_the_value(a_map, name, new_client):
    a_map.put("k", Person("Ada", 36, "London"))
    assert new_client().get_map(name).blocking().get("k") == Person("Ada", 36, "London")


def test_a_client_without_the_class_gets_a_generic_record_or_an_error_and_lives(a_map, name, new_client):
    """The Python client has no generic records; what matters here is that the member answers and nothing breaks."""
    a_map.put("k", Person("Ada", 36, "London"))
    plain = new_client(compact_serializers=[]).get_map(name).blocking()
    try:
        plain.get("k")
    except Exception as error:
        assert "person" in str(error).lower()
    assert plain.size() == 1


class NewerPerson:
    def __init__(self, name, email):
        self.name, self.email = name, email


class NewerSerializer(CompactSerializer):
    """The same type name with other fields: another schema."""

    def read(self, reader):
        return NewerPerson(reader.read_string("name"), reader.read_string("email"))

    def write(self, writer, obj):
        writer.write_string("name", obj.name)
        writer.write_string("email", obj.email)

    def get_type_name(self):
        return "person"

    def get_class(self):
        return NewerPerson


def test_two_schemas_of_one_type_in_one_map(a_map, name, new_client):
    newer = new_client(compact_serializers=[NewerSerializer()]).get_map(name).blocking()
    a_map.put("old", Person("Ada", 36, "London"))
    newer.put("new", NewerPerson("Ada", "ada@example.org"))
    assert sorted(a_map.key_set(equal("name", "Ada"))) == ["new", "old"]
    assert a_map.key_set(equal("age", 36)) == ["old"]
    assert a_map.key_set(equal("email", "ada@example.org")) == ["new"]


def test_fields_of_every_kind(new_client, name):
    from compact_kinds import KINDS, Everything, EverythingSerializer

    full = Everything(**{kind: value for kind, (_, value, _) in KINDS.items()})
    empty = Everything(**{kind: absent for kind, (_, _, absent) in KINDS.items()})
    kinds = new_client(compact_serializers=[EverythingSerializer()], default_int_type=IntType.VAR).get_map(name).blocking()
    kinds.put_all({"full": full, "empty": empty})
    assert kinds.get("full") == full and kinds.get("empty") == empty
    assert kinds.key_set(equal("int64", 2**40)) == ["full"]
    assert kinds.key_set(equal("string", "ü")) == ["full"]
    assert kinds.key_set(equal("nullable_int32", None)) == ["empty"]
    kinds.destroy()


def test_compact_keys(a_map):
    a_map.put(Person("Ada", 36, "London"), 1)
    assert a_map.get(Person("Ada", 36, "London")) == 1
    assert a_map.key_set(equal("__key.city", "London")) == [Person("Ada", 36, "London")]
