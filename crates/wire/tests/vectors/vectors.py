"""Checks the message table against the official Python client (pip install hazelcast-python-client).

    FILBERT_WRITE_VECTORS=1 cargo test -p filbert-wire --test protocol_vectors     writes table.json and answers.txt
    python crates/wire/tests/vectors/vectors.py                                    writes requests.txt, judges answers.txt

requests.txt: requests as the client's codecs write them, with what they say; the test decodes them.
answers.txt: responses, events and errors as Filbert writes them, with what they say; this script lets the client's codecs read
them and writes its verdict into the last column ("not looked at": the client does not decode that answer's fields).
Columns are separated by tabs. An ellipsis stands for whatever the client does not know.
"""

import importlib
import inspect
import itertools
import json
import random
import re
import uuid
from pathlib import Path
from types import SimpleNamespace

import hazelcast
from hazelcast import errors
from hazelcast.protocol.client_message import Frame, InboundMessage
from hazelcast.serialization.data import Data

HERE = Path(__file__).parent
ANY = "…"

# The client's names for the fields of structures, in our order; None where it has none.
ATTRIBUTES = {
    "Address": ["host", "port"],
    "MemberInfo": ["address", "uuid", "attributes", "lite_member", "version", "address_map"],
    "MemberVersion": ["major", "minor", "patch"],
    "EndpointQualifier": ["protocol_type", "identifier"],
    "DistributedObjectInfo": ["service_name", "name"],
    "SimpleEntryView": [
        "key", "value", "cost", "creation_time", "expiration_time", "hits", "last_access_time", "last_stored_time",
        "last_update_time", "version", "ttl", "max_idle",
    ],
    "IndexConfig": ["name", "type", "attributes", "bitmap_index_options", None],
    "BitmapIndexOptions": ["unique_key", "unique_key_transformation"],
    "AnchorDataListHolder": ["anchor_page_list", "anchor_data_list"],
    "PagingPredicateHolder": [
        "anchor_data_list_holder", "predicate_data", "comparator_data", "page_size", "page", "iteration_type_id",
        "partition_key_data", None,
    ],
    "Schema": ["type_name", "fields"],
    "FieldDescriptor": ["field_name", "kind"],
    "SqlQueryId": ["member_id_high", "member_id_low", "local_id_high", "local_id_low"],
    "SqlError": ["code", "message", "originating_member_uuid", "suggestion", None],
    # Client 5.7.0 swaps `nullable` and "is there" when it reads this one: always true.
    "SqlColumnMetadata": ["name", "type", None],
    "ErrorHolder": ["error_code", "class_name", "message", "stack_trace_elements"],
    "RaftGroupId": ["name", "seed", "id"],
    "StackTraceElement": ["class_name", "method_name", "file_name", "line_number"],
}

# Where an answer has several fields, the client's names for ours.
RENAMED = {
    "view": "response", "values": "response", "entries": "response", "anchors": "anchor_data_list",
    "item_sequences": "item_seqs", "next_sequence": "next_seq", "ttl_ms": "ttl_millis", "heartbeat_ms": "heartbeat_millis",
}  # fmt: skip

COLUMNS = {
    0: "Varchar", 1: "Boolean", 2: "TinyInt", 3: "SmallInt", 4: "Integer", 5: "BigInt", 6: "Decimal", 7: "Real", 8: "Double",
    9: "Date", 10: "Time", 11: "Timestamp", 12: "TimestampWithTimeZone", 13: "Object", 14: "Null", 15: "Json",
}


def codec_of(name):
    service, method = name.split(".")
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", service + method[0].upper() + method[1:]).lower()
    try:
        return importlib.import_module(f"hazelcast.protocol.codec.{snake}_codec")
    except ModuleNotFoundError:
        return None


# ---- values of a type, made up ----


def make(kind, dice):
    if kind in ("bool",):
        return dice.random() < 0.5
    if isinstance(kind, str) and kind[0] == "i" and kind[1:].isdigit():
        bits = int(kind[1:])
        return dice.randrange(-(1 << (bits - 1)), 1 << (bits - 1))
    if kind == "uuid":
        return uuid.UUID(int=dice.getrandbits(128))
    if kind == "text":
        return "".join(dice.choice("abcXYZ019_üß樹🌰") for _ in range(dice.randrange(1, 12)))
    if kind == "bytes":
        return dice.randbytes(dice.randrange(12))
    if kind == "data":
        return Data(bytes(4) + dice.choice([-11, -7, -130, 3]).to_bytes(4, "big", signed=True) + dice.randbytes(dice.randrange(16)))
    (form, inner), = kind.items()
    if form == "nullable":
        return None if dice.random() < 0.4 else make(inner, dice)
    if form == "list":
        return [make(inner, dice) for _ in range(dice.randrange(4))]
    if form == "pair":
        return (make(inner[0], dice), make(inner[1], dice))
    if form == "custom":
        name, fields = inner
        made = {a: make(f["type"], dice) for a, f in zip(ATTRIBUTES[name], fields) if a}
        return SimpleNamespace(**made)
    raise ValueError(kind)


# ---- what a value says, as Rust's Debug has it ----


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def byte_text(data):
    special = {0: "\\0", 9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 92: "\\\\"}
    return 'b"' + "".join(special.get(b) or (chr(b) if 0x20 <= b < 0x7F else f"\\x{b:02x}") for b in data) + '"'


def data_text(data):
    return f"Data(type {data.get_type()}, {data.data_size()} bytes)"


def say(kind, value):
    if kind == "bool":
        return "true" if value else "false"
    if kind in ("uuid", "i8", "i16", "i32", "i64"):
        return str(value)
    if kind == "text":
        return quoted(value)
    if kind == "bytes":
        return byte_text(value)
    if kind == "data":
        return data_text(value)
    if kind == "page":
        return page_text(value)
    if kind == "keyed":
        return "Keyed([" + ", ".join(f"({k}, {say({'list': 'i32'}, v)})" for k, v in value) + "])"
    (form, inner), = kind.items()
    if form == "nullable":
        return "None" if value is None else f"Some({say(inner, value)})"
    if form == "list":
        return "[" + ", ".join(say(inner, item) for item in items(value)) + "]"
    if form == "pair":
        return f"({say(inner[0], value[0])}, {say(inner[1], value[1])})"
    if form == "custom":
        name, fields = inner
        return record(name, fields, [attribute(value, a) if a else ANY for a in ATTRIBUTES[name]])
    raise ValueError(kind)


def attribute(value, name):
    """Some of the client's classes keep theirs private."""
    return getattr(value, name) if hasattr(value, name) else getattr(value, "_" + name)


def items(value):
    """A dictionary of the client as the list of pairs that it was."""
    if isinstance(value, dict):
        return value.items()
    return value


def record(name, fields, values):
    said = [f"{f['name']}: {ANY if v is ANY else say(f['type'], v)}" for f, v in zip(fields, values)]
    return f"{name} {{ {', '.join(said)} }}" if said else name


def page_text(page):
    columns = []
    for kind, values in zip(page._column_types, page._columns):
        name = COLUMNS[kind]
        if name == "Null":
            columns.append(f"Null({len(values)})")
        else:
            columns.append(f"{name}([" + ", ".join("None" if v is None else f"Some({cell(name, v)})" for v in values) + "])")
    return f"Page {{ last: {say('bool', page.is_last)}, columns: [{', '.join(columns)}] }}"


def cell(name, value):
    date = lambda d: f"SqlDate {{ year: {d.year}, month: {d.month}, day: {d.day} }}"
    time = lambda t: f"SqlTime {{ hour: {t.hour}, minute: {t.minute}, second: {t.second}, nanos: {t.microsecond * 1000} }}"
    if name == "Varchar":
        return quoted(value)
    if name == "Json":
        return quoted(value.to_string())
    if name == "Object":
        return data_text(value)
    if name == "Boolean":
        return say("bool", value)
    if name == "Decimal":
        sign, digits, exponent = value.as_tuple()
        unscaled = int("".join(map(str, digits))) * (-1 if sign else 1)
        return f"SqlDecimal {{ unscaled: {byte_text(unscaled.to_bytes(8, 'big', signed=True))}, scale: {-exponent} }}"
    if name == "Date":
        return date(value)
    if name == "Time":
        return time(value)
    if name == "Timestamp":
        return f"SqlDateTime {{ date: {date(value)}, time: {time(value)} }}"
    if name == "TimestampWithTimeZone":
        offset = int(value.utcoffset().total_seconds())
        return f"SqlOffsetDateTime {{ date: {date(value)}, time: {time(value)}, offset_seconds: {offset} }}"
    return repr(value)


def agrees(pattern, text):
    return re.fullmatch(".*?".join(map(re.escape, pattern.split(ANY))), text, re.S) is not None


# ---- requests: the client writes ----


def requests(table):
    lines = []
    for row in table:
        codec = codec_of(row["name"])
        if codec is None:
            lines.append("\t".join([f"{row['id']:06x}", row["name"], "no codec", ""]))
            continue
        for variant in range(3):
            dice = random.Random(row["id"] * 10 + variant)
            fields = row["request"]
            known = len(inspect.signature(codec.encode_request).parameters)
            values = [make(field["type"], dice) for field in fields[:known]]
            message = codec.encode_request(*values)
            message.set_correlation_id(dice.getrandbits(62))
            message.set_partition_id(dice.randrange(-1, 271))
            said = record(row["type"], fields, values + [ANY] * (len(fields) - known))
            lines.append("\t".join([f"{row['id']:06x}", row["name"], bytes(message.buf).hex(), said]))
    return lines


# ---- answers: the client reads ----


def inbound(data):
    message, at = None, 0
    while at < len(data):
        length = int.from_bytes(data[at : at + 4], "little", signed=True)
        frame = Frame(data[at + 6 : at + length], int.from_bytes(data[at + 4 : at + 6], "little"))
        if message is None:
            message = InboundMessage(frame)
        else:
            message.add_frame(frame)
        at += length
    return message


def read_response(codec, fields, data, name):
    takes_function = len(inspect.signature(codec.decode_response).parameters) > 1
    answer = codec.decode_response(inbound(data), *([lambda value: value] if takes_function else []))
    if len(fields) == 1:
        # A set has lost its order: any will do.
        orders = map(list, itertools.permutations(answer)) if isinstance(answer, set) else [answer]
        return [record(name, fields, [order]) for order in orders]
    key = lambda f: f if f in answer else RENAMED.get(f, re.sub("_ms$", "", f))
    return [record(name, fields, [answer.get(key(field["name"]), ANY) for field in fields])]


def read_event(codec, fields, data, name):
    seen = []
    handlers = [p for p in inspect.signature(codec.handle).parameters if p.startswith("handle_")]
    codec.handle(inbound(data), **{handler: (lambda *values: seen.append(values)) for handler in handlers})
    return [record(name, fields, seen[0])] if seen else None


def read_error(code, data):
    message = inbound(data)
    message.next_frame()
    from hazelcast.protocol.builtin import ListMultiFrameCodec
    from hazelcast.protocol.codec.custom.error_holder_codec import ErrorHolderCodec

    (holder,) = ListMultiFrameCodec.decode(message, ErrorHolderCodec.decode)
    known = code in errors._ERROR_CODE_TO_ERROR
    made = errors.create_error_from_message(inbound(data))
    assert known == (not isinstance(made, errors.UndefinedErrorCodeError)), (code, made)
    return [f"{holder.error_code} {holder.class_name}: {holder.message}"]


def judge(line, parts):
    number, name, data, said = line.split("\t")[:4]
    number, data = int(number, 16), bytes.fromhex(data)
    if name.startswith("error "):
        verdict = read_error(int(name.split()[1]), data)
    else:
        codec = codec_of(name.split(" ")[0])
        part = parts[number]
        if codec is None:
            return "no codec"
        if number & 0xFF == 1:
            if not hasattr(codec, "decode_response"):
                return "not looked at"
            verdict = read_response(codec, part["fields"], data, part["type"])
        else:
            verdict = read_event(codec, part["fields"], data, part["type"])
            if verdict is None:
                return "no codec"
    assert any(agrees(candidate, said) for candidate in verdict), f"{name}\n  we say     {said}\n  client says {verdict}"
    return f"read by {hazelcast.__version__}"


def main():
    table = json.loads((HERE / "table.json").read_text())
    (HERE / "requests.txt").write_text("\n".join(requests(table)) + "\n")
    parts = {part["id"]: part for row in table for part in [row["response"], *row["events"]]}
    path = HERE / "answers.txt"
    lines = [line for line in path.read_text().splitlines()]
    judged = ["\t".join([*line.split("\t")[:4], judge(line, parts)]) for line in lines]
    path.write_text("\n".join(judged) + "\n")
    print(f"{sum('read by' in line for line in judged)} of {len(judged)} answers read, {len(requests(table))} requests written")


main()
