"""Starts the member that this suite talks to, and gives each test clients and structures of its own.

Which member:
- `FILBERT_ADDRESS=host:port`: one that runs already (cluster name `dev`); tests that need settings or a restart are skipped;
- `FILBERT_BIN=<binary of the test member>`: one that is started here;
- `HAZELCAST_JARS=<hazelcast.jar>[:<hazelcast-tests.jar>]`: a real Hazelcast, the oracle. Every test passes there too, but
  for those marked `filbert_only`. The second jar holds the Java side of the fixtures in `fixtures.py`.
"""

import os
import sys
import uuid
from pathlib import Path

import pytest
from hazelcast import HazelcastClient

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "remote_controller"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import cluster_config  # noqa: E402
import members  # noqa: E402
from people import Person, PersonPortable, PersonSerializer, TeamPortable  # noqa: E402

# One configuration for all tests, in Hazelcast's words; cluster_config.py says what of it a Filbert member gets.
CONFIG = """
<hazelcast xmlns="http://www.hazelcast.com/schema/config">
    <cluster-name>dev</cluster-name>
    <properties>
        <property name="hazelcast.client.max.no.heartbeat.seconds">60</property>
        <property name="hazelcast.map.invalidation.batch.enabled">false</property>
    </properties>
    %s
    <map name="with-stats*"><per-entry-stats-enabled>true</per-entry-stats-enabled></map>
    <map name="short-lived*"><time-to-live-seconds>1</time-to-live-seconds></map>
    <map name="idle*"><max-idle-seconds>2</max-idle-seconds></map>
    <map name="evicting*"><eviction eviction-policy="LRU" max-size-policy="PER_NODE" size="1000"/></map>
    <map name="journaled*"><event-journal enabled="true"><capacity>2710</capacity></event-journal></map>
    <queue name="bounded*"><max-size>6</max-size></queue>
    <list name="bounded*"><max-size>3</max-size></list>
    <set name="bounded*"><max-size>3</max-size></set>
    <multimap name="listed*"><value-collection-type>LIST</value-collection-type></multimap>
    <ringbuffer name="small*"><capacity>4</capacity></ringbuffer>
    <ringbuffer name="aging*"><capacity>2</capacity><time-to-live-seconds>2</time-to-live-seconds></ringbuffer>
    <cp-subsystem><semaphores>
        <semaphore><name>sessionless*</name><jdk-compatible>true</jdk-compatible></semaphore>
    </semaphores></cp-subsystem>
</hazelcast>
"""
FIXTURES = """
    <serialization><data-serializable-factories>
        <data-serializable-factory factory-id="66">%(java)s.IdentifiedFactory</data-serializable-factory>
        <data-serializable-factory factory-id="666">%(java)s.IdentifiedDataSerializableFactory</data-serializable-factory>
    </data-serializable-factories></serialization>
""" % {"java": "com.hazelcast.client.test"}


def pytest_configure(config):
    for marker in (
        "filbert_only: shows what is Filbert's own way; skipped with a real Hazelcast",
        "oracle_only: shows what Filbert does not serve, see docs/compatibility.md; skipped with Filbert",
        "needs_config: relies on the configuration of conftest.py; skipped with FILBERT_ADDRESS",
        "needs_fixtures: relies on the entry processors and tasks of fixtures.py",
    ):
        config.addinivalue_line("markers", marker)


def pytest_collection_modifyitems(items):
    running = bool(os.environ.get("FILBERT_ADDRESS"))
    oracle = bool(os.environ.get("HAZELCAST_JARS"))
    for item in items:
        if oracle and item.get_closest_marker("filbert_only"):
            item.add_marker(pytest.mark.skip(reason="Filbert's own way"))
        if not oracle and item.get_closest_marker("oracle_only"):
            item.add_marker(pytest.mark.skip(reason="not served by Filbert"))
        if running and (item.get_closest_marker("needs_config") or item.get_closest_marker("needs_fixtures")):
            item.add_marker(pytest.mark.skip(reason="a member that runs already has settings of its own"))
        if oracle and item.get_closest_marker("needs_fixtures") and not oracle_has_fixtures():
            item.add_marker(pytest.mark.skip(reason="HAZELCAST_JARS has no jar with the test fixtures"))


def oracle_has_fixtures():
    return "tests" in os.environ.get("HAZELCAST_JARS", "")


class Cluster:
    """The member under test; `restart` ends it and starts another on the same port."""

    def __init__(self, backend, config):
        self.backend = backend
        self.config = config
        self.member = None

    def start(self, port=None):
        self.member = self.backend.start(self.config, "dev", (), port)

    @property
    def address(self):
        return self.member.address

    def restart(self):
        port = self.member.port
        self.member.shutdown()
        self.start(port)

    def end(self):
        if self.member:
            self.member.shutdown()


class RunningCluster:
    """A member that somebody else started."""

    def __init__(self, address):
        self.address = address

    def end(self):
        pass


def new_cluster(folder):
    jars = os.environ.get("HAZELCAST_JARS")
    fixtures = FIXTURES if not jars or oracle_has_fixtures() else ""
    config = cluster_config.parse(CONFIG % fixtures)
    return Cluster(members.backend(folder, os.environ.get("FILBERT_BIN"), jars), config)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    if os.environ.get("FILBERT_ADDRESS"):
        yield RunningCluster(os.environ["FILBERT_ADDRESS"])
        return
    cluster = new_cluster(tmp_path_factory.mktemp("member"))
    cluster.start(int(os.environ.get("FILBERT_PORT", "0")) or None)
    yield cluster
    cluster.end()


@pytest.fixture
def own_cluster(tmp_path):
    """A second member, for tests that restart or end it; on ports that no client tries by itself."""
    cluster = new_cluster(tmp_path)
    cluster.start(members.free_port(5901))
    yield cluster
    cluster.end()


def connect(address, **settings):
    """A client with everything registered that any test needs."""
    return HazelcastClient(
        **{
            "cluster_members": [address],
            "cluster_name": "dev",
            "cluster_connect_timeout": 20,
            "portable_factories": {1: {1: PersonPortable, 2: TeamPortable}},
            "compact_serializers": [PersonSerializer()],
            **settings,
        }
    )


@pytest.fixture(scope="session")
def client(cluster):
    client = connect(cluster.address)
    yield client
    client.shutdown()


@pytest.fixture
def new_client(cluster):
    """Makes further clients; they end with the test."""
    made = []

    def make(**settings):
        made.append(connect(cluster.address, **settings))
        return made[-1]

    yield make
    for client in made:
        client.shutdown()


@pytest.fixture
def name():
    """A name that no other test uses."""
    return f"t-{uuid.uuid4()}"


@pytest.fixture
def a_map(client, name):
    made = client.get_map(name).blocking()
    yield made
    made.destroy()


@pytest.fixture
def a_list(client, name):
    made = client.get_list(name).blocking()
    yield made
    made.destroy()


@pytest.fixture
def a_queue(client, name):
    made = client.get_queue(name).blocking()
    yield made
    made.destroy()


@pytest.fixture
def people(a_map):
    """Ten people in a map, as JSON: p0 aged 20 in Oslo, p1 aged 21 in Rome, p2 aged 22 in Oslo, ..."""
    a_map.put_all({f"p{i}": Person.number(i).json() for i in range(10)})
    return a_map
