"""One Compact class with a field of every kind the format has."""

import datetime
import decimal

from hazelcast.serialization.api import CompactSerializer

ZONE = datetime.timezone(datetime.timedelta(hours=-5))
# field name: (kind in the names of the reader and the writer, a value, the value that stands for absent)
KINDS = {
    "boolean": ("boolean", True, False),
    "int8": ("int8", -8, 0),
    "int16": ("int16", -1600, 0),
    "int32": ("int32", -320000, 0),
    "int64": ("int64", 2**40, 0),
    "float32": ("float32", 0.5, 0.0),
    "float64": ("float64", 0.1, 0.0),
    "string": ("string", "ü", None),
    "decimal": ("decimal", decimal.Decimal("1.25"), None),
    "time": ("time", datetime.time(1, 2, 3), None),
    "date": ("date", datetime.date(2024, 2, 29), None),
    "timestamp": ("timestamp", datetime.datetime(2024, 2, 29, 1, 2, 3), None),
    "timestamp_with_timezone": ("timestamp_with_timezone", datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=ZONE), None),
    "nullable_boolean": ("nullable_boolean", True, None),
    "nullable_int32": ("nullable_int32", 7, None),
    "nullable_float64": ("nullable_float64", 0.25, None),
    "array_of_boolean": ("array_of_boolean", [True, False, True] * 5, None),
    "array_of_int32": ("array_of_int32", [1, 2, 3], None),
    "array_of_string": ("array_of_string", ["a", None, "b"], None),
    "array_of_nullable_int64": ("array_of_nullable_int64", [1, None, 2**50], None),
    "array_of_date": ("array_of_date", [datetime.date(2024, 1, 1), None], None),
}


class Everything:
    def __init__(self, **values):
        self.values = values

    def __eq__(self, other):
        return self.values == other.values


class EverythingSerializer(CompactSerializer):
    def read(self, reader):
        return Everything(**{name: getattr(reader, f"read_{kind}")(name) for name, (kind, _, _) in KINDS.items()})

    def write(self, writer, obj):
        for name, (kind, _, _) in KINDS.items():
            getattr(writer, f"write_{kind}")(name, obj.values[name])

    def get_type_name(self):
        return "everything"

    def get_class(self):
        return Everything
