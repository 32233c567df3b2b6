"""Reads a Hazelcast XML configuration and writes it for the member that shall run with it.

The tests of the clients hand their settings over as Hazelcast XML. A Filbert member gets the part of it that it has as
TOML (`to_toml`); a real Hazelcast member gets the same XML with a cluster name and a join that stays on this machine
(`to_hazelcast_xml`). What has no counterpart is listed in `unsupported`, so that nobody wonders why a test fails.

The tables of the TOML file that are written here (docs/settings.md and `filbert config print` have all):

    [cluster]
    name = "dev"                      # what clients must name to be let in
    [hazelcast]
    public_address = "localhost:5701" # what the member says of itself in its member list
    [hazelcast.connections]
    idle_timeout_ms = 60000           # a client that is silent for longer is disconnected
    [map."pattern"]                   # one * in a pattern stands for any text
    ttl_seconds = 0
    max_idle_seconds = 0
    per_entry_stats = false
    eviction = "lru"                  # none, lru, lfu, random
    max_size = { entries = 1000 }     # or entries_per_partition
    store = { name = "class name" }   # and write_delay_ms, when changes are written later
    journal = { capacity = 10000 }    # changes that are kept for readers, in all partitions together
    [queue."pattern"]                 # also [list."pattern"], [set."pattern"]
    max_size = 6                      # 0 is unbounded
    [multimap."pattern"]
    collection = "list"               # or "set"
    [ringbuffer."pattern"]
    capacity = 10
    ttl_seconds = 180
    [semaphore."pattern"]
    sessionless = true
    [grid.executor."pattern"]
    threads = 16
    capacity = 1000
"""

import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field

NAMESPACE = "http://www.hazelcast.com/schema/config"
FIXTURE_FACTORIES = {"66", "666"}

# XML element of a map, queue, ... -> (key, kind of value)
SCALARS = {
    "map": {
        "time-to-live-seconds": ("ttl_seconds", int),
        "max-idle-seconds": ("max_idle_seconds", int),
        "per-entry-stats-enabled": ("per_entry_stats", bool),
    },
    "queue": {"max-size": ("max_size", int)},
    "list": {"max-size": ("max_size", int)},
    "set": {"max-size": ("max_size", int)},
    "multimap": {"value-collection-type": ("collection", str.lower)},
    "ringbuffer": {"capacity": ("capacity", int), "time-to-live-seconds": ("ttl_seconds", int)},
    "replicatedmap": {},
    "reliable-topic": {},
    "executor-service": {"pool-size": ("threads", int), "queue-capacity": ("capacity", int)},
    "topic": {},
}
TABLE_NAMES = {"executor-service": "grid.executor"}
# Numbers that mean "the default" in Hazelcast and "none at all" here.
ZERO_IS_DEFAULT = {"capacity"}
# What one member has of the CP subsystem: semaphores by name.
CP_WITHOUT_EFFECT = {"cp-member-count", "group-size", "semaphores"}
MAX_SIZES = {"PER_NODE": "entries", "PER_PARTITION": "entries_per_partition"}
# Settings that change nothing for one member and one test: not worth a word.
WITHOUT_EFFECT = {"properties", "network", "serialization", "cluster-name", "backup-count", "async-backup-count",
                  "in-memory-format", "statistics-enabled"}  # fmt: skip


class BadConfig(ValueError):
    """The XML cannot be read."""


@dataclass
class ClusterConfig:
    """What a cluster was asked to be."""

    xml: str | None = None
    cluster_name: str | None = None
    public_address: str | None = None
    max_no_heartbeat_seconds: int | None = None
    port: int | None = None
    tables: dict = field(default_factory=dict)
    unsupported: list = field(default_factory=list)

    def to_toml(self, cluster_name, port):
        """The TOML file of a Filbert member that listens on `port`."""
        lines = ["[cluster]", f"name = {quoted(cluster_name)}"]
        if self.public_address is not None:
            # Hazelcast adds the port that it listens on; a Filbert member wants to be told.
            public = self.public_address if ":" in self.public_address else f"{self.public_address}:{port}"
            lines += ["", "[hazelcast]", f"public_address = {quoted(public)}"]
        if self.max_no_heartbeat_seconds is not None:
            lines += ["", "[hazelcast.connections]", f"idle_timeout_ms = {self.max_no_heartbeat_seconds * 1000}"]
        for (table, pattern), settings in self.tables.items():
            lines += ["", f"[{table}.{quoted(pattern)}]"]
            lines += [f"{key} = {toml_value(value)}" for key, value in settings.items()]
        return "\n".join(lines) + "\n"

    def to_hazelcast_xml(self, cluster_name, members, first_port):
        """The XML file of a real Hazelcast member that joins `members` (addresses) on this machine alone."""
        ElementTree.register_namespace("", NAMESPACE)
        root = ElementTree.fromstring(self.xml) if self.xml else ElementTree.Element(tag("hazelcast"))
        child(root, "cluster-name").text = cluster_name
        properties = child(root, "properties")
        for name, value in (
            ("hazelcast.phone.home.enabled", "false"),
            ("hazelcast.tcp.join.port.try.count", "1"),
            ("hazelcast.socket.bind.any", "false"),
            ("hazelcast.shutdownhook.policy", "GRACEFUL"),
            ("hazelcast.logging.type", "jdk"),
        ):
            ElementTree.SubElement(properties, tag("property"), name=name).text = value
        if root.find(tag("advanced-network")) is None:
            network = child(root, "network")
            port = child(network, "port")
            port.set("auto-increment", "true")
            port.set("port-count", "100")
            port.text = (port.text or "").strip() or str(first_port)
            for old in network.findall(tag("join")):
                network.remove(old)
            interfaces = child(network, "interfaces")
            interfaces.set("enabled", "true")
            ElementTree.SubElement(interfaces, tag("interface")).text = "127.0.0.1"
            join = child(network, "join")
        else:
            join = child(root.find(tag("advanced-network")), "join")
        child(join, "auto-detection").set("enabled", "false")
        child(join, "multicast").set("enabled", "false")
        tcp_ip = child(join, "tcp-ip")
        tcp_ip.set("enabled", "true")
        for address in members:
            ElementTree.SubElement(tcp_ip, tag("member")).text = address
        return ElementTree.tostring(root, encoding="unicode")


def parse(xml):
    """Reads Hazelcast XML; `None` is the default configuration."""
    config = ClusterConfig(xml=xml)
    if not xml:
        return config
    try:
        root = ElementTree.fromstring(xml)
    except ElementTree.ParseError as error:
        raise BadConfig(f"the cluster configuration is not XML: {error}") from error
    for element in root:
        name = local(element)
        if name in SCALARS:
            read_structure(config, name, element)
        elif name == "cp-subsystem":
            read_cp_subsystem(config, element)
        elif name not in WITHOUT_EFFECT:
            config.unsupported.append(name)
    name = root.find(tag("cluster-name"))
    config.cluster_name = text(name) if name is not None else None
    address = root.find(f"{tag('network')}/{tag('public-address')}")
    config.public_address = text(address) if address is not None else None
    port = root.find(f"{tag('network')}/{tag('port')}")
    config.port = int(text(port)) if port is not None and text(port) else None
    for item in root.iter(tag("property")):
        if item.get("name") == "hazelcast.client.max.no.heartbeat.seconds":
            config.max_no_heartbeat_seconds = int(text(item))
    for factory in root.iter(tag("data-serializable-factory")):
        if factory.get("factory-id") not in FIXTURE_FACTORIES:
            config.unsupported.append(f"data-serializable-factory {factory.get('factory-id')}")
    return config


def read_structure(config, kind, element):
    """One `<map name=...>`, `<queue name=...>` and so on."""
    pattern = element.get("name", "default")
    settings = {}
    for item in element:
        name = local(item)
        if name in SCALARS[kind]:
            key, of = SCALARS[kind][name]
            value = text(item).lower() == "true" if of is bool else of(text(item))
            if value or key not in ZERO_IS_DEFAULT:
                settings[key] = value
        elif name == "eviction":
            settings["eviction"] = item.get("eviction-policy", "NONE").lower()
            max_size = MAX_SIZES.get(item.get("max-size-policy", "PER_NODE"))
            if max_size and int(item.get("size", "0")):
                settings["max_size"] = {max_size: int(item.get("size"))}
        elif name == "map-store":
            if item.get("enabled", "true").lower() == "true":
                settings["store"] = read_map_store(item)
        elif name == "event-journal":
            if item.get("enabled", "true").lower() == "true":
                settings["journal"] = read_event_journal(item)
        elif name not in WITHOUT_EFFECT:
            config.unsupported.append(f"{kind} {pattern!r}: {name}")
    if settings:
        # `default` is what no other pattern matches.
        config.tables[(TABLE_NAMES.get(kind, kind), "*" if pattern == "default" else pattern)] = settings


def read_map_store(element):
    """A store is known to the member by the name of its class."""
    store = {"name": text(element.find(tag("class-name")))}
    delay = element.find(tag("write-delay-seconds"))
    if delay is not None and int(text(delay)):
        store["write_delay_ms"] = int(text(delay)) * 1000
    return store


def read_event_journal(element):
    """Without a capacity, as many changes as is usual."""
    capacity = element.find(tag("capacity"))
    return {"capacity": int(text(capacity))} if capacity is not None else {}


def read_cp_subsystem(config, element):
    """Semaphores: those that the JDK would know have no sessions."""
    for semaphore in element.iter(tag("semaphore")):
        sessionless = semaphore.find(tag("jdk-compatible"))
        if sessionless is not None:
            pattern = text(semaphore.find(tag("name")))
            config.tables[("semaphore", pattern)] = {"sessionless": text(sessionless).lower() == "true"}
    names = (local(item) for item in element)
    config.unsupported += [f"cp-subsystem: {name}" for name in names if name not in CP_WITHOUT_EFFECT]


def toml_value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml_value(item)}" for key, item in value.items()) + " }"
    return quoted(value)


def quoted(value):
    """A TOML basic string."""
    out = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}" for c in out) + '"'


def tag(name):
    return f"{{{NAMESPACE}}}{name}"


def local(element):
    return element.tag.rsplit("}", 1)[-1]


def text(element):
    return (element.text or "").strip()


def child(parent, name):
    """The child of that name, made if it is not there."""
    found = parent.find(tag(name))
    return found if found is not None else ElementTree.SubElement(parent, tag(name))
