"""A person in each of the forms that a member looks into: JSON, Portable, Compact."""

import json
from dataclasses import dataclass

from hazelcast.core import HazelcastJsonValue
from hazelcast.serialization.api import CompactSerializer, Portable

CITIES = ["Oslo", "Rome"]


@dataclass(frozen=True)
class Person:
    name: str
    age: int
    city: str

    @staticmethod
    def number(i):
        return Person(f"Person {i}", 20 + i, CITIES[i % 2])

    def json(self):
        return HazelcastJsonValue(
            json.dumps({"name": self.name, "age": self.age, "home": {"city": self.city}, "tags": [self.city[0], "x"]})
        )


class PersonPortable(Portable):
    def __init__(self, name=None, age=None):
        self.name, self.age = name, age

    def write_portable(self, writer):
        writer.write_string("name", self.name)
        writer.write_int("age", self.age)

    def read_portable(self, reader):
        self.name = reader.read_string("name")
        self.age = reader.read_int("age")

    def get_factory_id(self):
        return 1

    def get_class_id(self):
        return 1

    def __eq__(self, other):
        return (self.name, self.age) == (other.name, other.age)

    def __hash__(self):
        return hash((self.name, self.age))


class PersonSerializer(CompactSerializer):
    def read(self, reader):
        return Person(reader.read_string("name"), reader.read_int32("age"), reader.read_string("city"))

    def write(self, writer, obj):
        writer.write_string("name", obj.name)
        writer.write_int32("age", obj.age)
        writer.write_string("city", obj.city)

    def get_type_name(self):
        return "person"

    def get_class(self):
        return Person


class TeamPortable(Portable):
    """People within: one who leads, perhaps nobody, and all others."""

    def __init__(self, leader=None, people=None, scores=None):
        self.leader, self.people, self.scores = leader, people, scores

    def write_portable(self, writer):
        if self.leader is None:
            writer.write_null_portable("leader", 1, 1)
        else:
            writer.write_portable("leader", self.leader)
        writer.write_portable_array("people", self.people)
        writer.write_long_array("scores", self.scores)

    def read_portable(self, reader):
        self.leader = reader.read_portable("leader")
        self.people = reader.read_portable_array("people")
        self.scores = reader.read_long_array("scores")

    def get_factory_id(self):
        return 1

    def get_class_id(self):
        return 2
