"""The few scripts that this controller understands: those that put Java objects into a map, as the SQL tests do, those that change a map
behind a near cache, and the one that publishes as a member.

    var map = instance_0.getMap("name");
    for (var key = 0; key < 10; key++) { map.set(new java.lang.Integer(key), java.time.LocalDate.of(key + 2000, 1, 1)); }

    var m = instance_0.getMap("name"); m.put(1, new com.hazelcast.client.test.Employee(1, "Joe"));

    var map = instance_0.getMap("name"); map.put("key", "value"); map.remove("key"); map.clear();

    var topic = instance_0.getReliableTopic("name"); for (var i = 0; i < 10; i++) { topic.publish(i); }

Nothing is run: the entries are written by a client, in the bytes that Java would give them.
"""

import ast
import operator
import re
import struct
import time

from hazelcast import HazelcastClient
from hazelcast.serialization.api import Portable
from hazelcast.serialization.data import Data
from hazelcast.serialization.objects import IdentifiedAddress, ReliableTopicMessage

NAME = re.compile(r'(?:var )?(\w+) = instance_0\.getMap\("([^"]+)"\);')
LOOP = re.compile(
    r"for \(var key = 0; key < (\d+); key\+\+\) \{\s*\w+\.set\(new java\.lang\.Integer\(key\), (.+?)\);\s*\}", re.DOTALL
)
EMPLOYEE = re.compile(r'\w+\.put\((\d+), new com\.hazelcast\.client\.test\.Employee\((\d+), "([^"]*)"\)\);')
CHANGE = re.compile(r'\bmap\.(put|remove|clear)\(((?:"[^"]*")?(?:,\s*"[^"]*")?)\)')
PUBLISH = re.compile(
    r'getReliableTopic\("([^"]+)"\);\s*for \(var i = 0; i < (\d+); i\+\+\) \{\s*topic\.publish\(i\);', re.DOTALL
)
CALL = re.compile(r"(?:new )?([\w.]+)\((.*)\)\Z", re.DOTALL)
OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


class Employee(Portable):
    """The Portable object of Hazelcast's test fixtures."""

    def __init__(self, number=None, name=None):
        self.number, self.name = number, name

    def get_factory_id(self):
        return 666

    def get_class_id(self):
        return 1

    def write_portable(self, writer):
        writer.write_string("name", self.name)
        writer.write_int("age", self.number)

    def read_portable(self, reader):
        self.name, self.number = reader.read_string("name"), reader.read_int("age")


class MemberAddress(IdentifiedAddress):
    """An address that can be written; that of the client is only read."""

    def write_data(self, object_data_output):
        object_data_output.write_int(self.port)
        object_data_output.write_byte(4)
        object_data_output.write_string(self.host)


def run(script, cluster_name, address):
    """Does what the script says; false when it is none of those above."""
    name = NAME.search(script)
    loop, employee, changes = LOOP.search(script), EMPLOYEE.search(script), CHANGE.findall(script)
    publish = PUBLISH.search(script)
    if not publish and not (name and (loop or employee or changes)):
        return False
    client = HazelcastClient(cluster_name=cluster_name, cluster_members=[address], client_name="remote-controller")
    try:
        if publish:
            publish_as_member(client, publish.group(1), int(publish.group(2)))
            return True
        a_map = client.get_map(name.group(2))
        if changes:
            for verb, arguments in changes:
                getattr(a_map, verb)(*re.findall(r'"([^"]*)"', arguments)).result()
            return True
        if employee:
            a_map.put(int(employee.group(1)), Employee(int(employee.group(2)), employee.group(3))).result()
            return True
        a_map._to_data, a_map._to_object = (lambda value: value), (lambda value: value)
        for key in range(int(loop.group(1))):
            a_map.set(data(-7, struct.pack(">i", key)), java_object(loop.group(2), key)).result()
        return True
    finally:
        client.shutdown()


def publish_as_member(client, topic, count):
    """Messages that say which member they are from, which those of a client do not."""
    member = client.cluster_service.get_members()[0].address
    address = MemberAddress(member.host, member.port)
    ringbuffer = client.get_ringbuffer("_hz_rb_" + topic)
    for number in range(count):
        payload = client._serialization_service.to_data(number)
        ringbuffer.add(ReliableTopicMessage(time.time(), address, payload)).result()


def data(type_id, payload):
    """A serialized value: no hash, its type, its bytes."""
    return Data(struct.pack(">ii", 0, type_id) + payload)


def java_object(expression, key):
    """The bytes of `new java.lang.Byte(key)`, `java.time.LocalDate.of(...)` and the like."""
    class_name, inner = CALL.match(expression.strip()).groups()
    arguments = split(inner)
    of_zone = [java_object_offset(a, key) if "ZoneOffset" in a else number(a, key) for a in arguments]
    type_id, layout = {
        "java.lang.Byte": (-3, ">b"),
        "java.lang.Short": (-6, ">h"),
        "java.lang.Integer": (-7, ">i"),
        "java.lang.Long": (-8, ">q"),
        "java.lang.Float": (-9, ">f"),
        "java.lang.Double": (-10, ">d"),
        "java.time.LocalDate.of": (-51, ">ibb"),
        "java.time.LocalTime.of": (-52, ">bbbi"),
        "java.time.LocalDateTime.of": (-53, ">ibbbbbi"),
        "java.time.OffsetDateTime.of": (-54, ">ibbbbbii"),
        "java.math.BigDecimal.valueOf": (-27, ">ibi"),
    }[class_name]
    if type_id == -27:  # the digits as an array of bytes, then the scale
        of_zone = [1, *of_zone]
    return data(type_id, struct.pack(layout, *of_zone))


def java_object_offset(expression, key):
    """Seconds of `java.time.ZoneOffset.ofHours(...)`."""
    return number(CALL.match(expression.strip()).group(2), key) * 3600


def split(arguments):
    """Arguments at the commas that are in no parentheses."""
    parts, depth = [""], 0
    for letter in arguments:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def number(expression, key):
    """The value of arithmetic over `key`."""

    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name) and node.id == "key":
            return key
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](value(node.left), value(node.right))
        raise ValueError(f"{expression!r} is no arithmetic over key")

    return value(ast.parse(expression.strip(), mode="eval").body)
