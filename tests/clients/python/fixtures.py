"""The member's test fixtures by name: code that runs in the member and that a client can only refer to.

A client names such code by the factory id and the class id of an IdentifiedDataSerializable, followed by its fields. The
fixtures are those that Hazelcast keeps for the tests of its clients (see ../remote_controller/fixtures.md), so the same
tests run against both. `REGISTRY` is the list that a member must serve.
"""

from hazelcast.serialization.api import IdentifiedDataSerializable


class Fixture(IdentifiedDataSerializable):
    """One registered piece of member-side code: its ids and its fields, each with the name of its writer."""

    ids = (0, 0)
    fields = ()

    def __init__(self, *values):
        self.values = values

    def write_data(self, output):
        for kind, value in zip(self.fields, self.values):
            getattr(output, f"write_{kind}")(value)

    def read_data(self, _input):
        raise NotImplementedError("fixtures travel to the member only")

    def get_factory_id(self):
        return self.ids[0]

    def get_class_id(self):
        return self.ids[1]


def fixture(name, factory, class_id, *fields):
    return type(name, (Fixture,), {"ids": (factory, class_id), "fields": fields})


SetValue = fixture("SetValue", 66, 1, "string")
OrderEntries = fixture("OrderEntries", 66, 2, "int", "int")
Append = fixture("Append", 66, 5, "string")
SleepMillis = fixture("SleepMillis", 66, 6, "long")
Fail = fixture("Fail", 66, 7)
MemberUuid = fixture("MemberUuid", 66, 8)
ReturnNull = fixture("ReturnNull", 66, 10)
Multiply = fixture("Multiply", 66, 16, "long")
AppendText = fixture("AppendText", 66, 17, "string")
HasPrefix = fixture("HasPrefix", 666, 14, "string")
MultiplyKey = fixture("MultiplyKey", 666, 3, "int")
PrefixOnGet = fixture("PrefixOnGet", 666, 6, "string")
MultiplyKeyOrNull = fixture("MultiplyKeyOrNull", 666, 7, "int")
WaitThenMultiplyKey = fixture("WaitThenMultiplyKey", 666, 8, "int", "int")

REGISTRY = {
    "entry processors": [SetValue, MultiplyKey, MultiplyKeyOrNull, WaitThenMultiplyKey],
    "tasks": [Append, SleepMillis, Fail, MemberUuid, ReturnNull],
    "functions": [Multiply, AppendText, HasPrefix],
    "comparators": [OrderEntries],
    "interceptors": [PrefixOnGet],
}

# The order that OrderEntries takes, and what it compares.
ASCENDING, DESCENDING, BY_LENGTH = 0, 1, 2
BY_KEY, BY_VALUE, BY_ENTRY = 0, 1, 2
