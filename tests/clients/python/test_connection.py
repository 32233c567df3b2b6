"""Connections: login, members and partitions, life cycle, heartbeats, statistics, and a member that comes back."""

import socket
import struct

import pytest
from conftest import connect
from hazelcast.errors import HazelcastError, IllegalStateError, UnsupportedOperationError
from hazelcast.invocation import Invocation
from hazelcast.lifecycle import LifecycleState
from hazelcast.protocol.client_message import REQUEST_HEADER_SIZE, OutboundMessage, create_initial_buffer
from waiting import Seen, eventually


def test_members_and_partitions(client, cluster, a_map):
    a_map.put("k", "v")  # Hazelcast gives partitions owners when the first one is needed
    members = client.cluster_service.get_members()
    assert len(members) == 1
    assert f"{members[0].address.host}:{members[0].address.port}" == cluster.address
    assert not members[0].lite_member
    assert client.partition_service.get_partition_count() == 271
    for partition in (0, 270):
        eventually(lambda: client.partition_service.get_partition_owner(partition) == members[0].uuid)


def test_a_member_listener_is_told_of_the_members_there_are(cluster, new_client):
    heard = Seen()
    client = new_client(membership_listeners=[(heard, None)])
    assert [member.uuid for member in heard.wait_for(1)] == [client.cluster_service.get_members()[0].uuid]


def test_another_cluster_name_is_refused(cluster):
    with pytest.raises((HazelcastError, IllegalStateError)):
        connect(cluster.address, cluster_name="not-dev", cluster_connect_timeout=1)


def test_without_smart_routing(new_client, name):
    plain = new_client(smart_routing=False).get_map(name).blocking()
    plain.put_all({i: i for i in range(100)})
    assert plain.size() == 100
    plain.destroy()


def test_labels_and_names_are_taken(new_client, name):
    named = new_client(client_name="a-name", labels=["one", "two"])
    assert named.name == "a-name"
    named.get_map(name).blocking().destroy()


def test_life_cycle(cluster):
    states = Seen()
    client = connect(cluster.address, lifecycle_listeners=[states])
    client.shutdown()
    assert list(states) == [
        LifecycleState.STARTING,
        LifecycleState.STARTED,
        LifecycleState.CONNECTED,
        LifecycleState.SHUTTING_DOWN,
        LifecycleState.DISCONNECTED,
        LifecycleState.SHUTDOWN,
    ]
    with pytest.raises((HazelcastError, IllegalStateError)):
        client.get_map("m").blocking().put(1, 1)


def test_heartbeats_keep_an_idle_connection(new_client, name):
    """A short interval makes the client ping; a ping without an answer would close the connection."""
    disconnected = Seen()
    idle = new_client(
        heartbeat_interval=0.2,
        heartbeat_timeout=5,
        lifecycle_listeners=[lambda state: disconnected(state) if state == LifecycleState.DISCONNECTED else None],
    )
    pings = idle.get_map(name).blocking()
    connection = idle._connection_manager.get_random_connection()
    for _ in range(3):
        before = connection.last_read_time
        eventually(lambda: connection.last_read_time > before, "a ping was answered")
    assert disconnected == []
    assert pings.size() == 0
    pings.destroy()


def test_statistics_are_taken(new_client, name):
    """The member takes what a client says of itself, and answers nothing."""
    telling = new_client(statistics_enabled=True, statistics_period=1, heartbeat_interval=1000)
    counted = telling.get_map(name).blocking()
    counted.put(1, 1)
    connection = telling._connection_manager.get_random_connection()
    before = connection.last_write_time
    eventually(lambda: connection.last_write_time > before, "something was sent, which can only be statistics")
    assert counted.size() == 1
    counted.destroy()


def test_an_unknown_message_is_unsupported_and_the_connection_lives(client, a_map):
    connection = client._connection_manager.get_random_connection()
    request = OutboundMessage(create_initial_buffer(REQUEST_HEADER_SIZE, 0xEE0100, is_final=True), False)
    invocation = Invocation(request, connection=connection)
    client._invocation_service.invoke(invocation)
    with pytest.raises(UnsupportedOperationError):
        invocation.future.result()
    assert a_map.size() == 0
    assert client._connection_manager.get_random_connection() is connection


@pytest.mark.filbert_only
def test_transactions_are_unsupported_and_the_connection_lives(client, a_map):
    with pytest.raises(UnsupportedOperationError):
        client.new_transaction().begin()
    assert a_map.size() == 0


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"CP2" + struct.pack("<iH", -1, 0),
        b"CP2" + struct.pack("<iH", 2**31 - 1, 0xC000),
        b"CP2" + b"\xff" * 64,
    ],
    ids=["http", "negative length", "huge length", "noise"],
)
def test_noise_from_one_socket_leaves_others_alone(client, cluster, a_map, garbage):
    host, port = cluster.address.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=10) as noisy:
        noisy.sendall(garbage)
        a_map.put("k", "v")
    assert a_map.get("k") == "v"


@pytest.mark.needs_config
def test_reconnects_after_a_restart(own_cluster, name):
    states, heard = Seen(), Seen()
    client = connect(own_cluster.address, lifecycle_listeners=[states], cluster_connect_timeout=120)
    try:
        kept = client.get_map(name).blocking()
        kept.put("k", "v")
        kept.add_entry_listener(added_func=heard, include_value=True)
        own_cluster.restart()
        eventually(lambda: states.count(LifecycleState.CONNECTED) == 2, "the client is connected again", 90)
        assert LifecycleState.DISCONNECTED in states
        eventually(lambda: kept.size() == 0, "memory is gone with the process")

        def heard_again():
            kept.put(len(heard), "again")
            kept.clear()
            return len(heard)

        eventually(heard_again, "the listener was registered again", 60)
    finally:
        client.shutdown()


@pytest.mark.needs_config
def test_schemas_are_sent_again_after_a_restart(own_cluster, name):
    from hazelcast.predicate import equal
    from people import Person

    states = Seen()
    client = connect(own_cluster.address, lifecycle_listeners=[states], cluster_connect_timeout=120)
    try:
        people = client.get_map(name).blocking()
        people.put("k", Person("Ada", 36, "London"))
        own_cluster.restart()
        eventually(lambda: states.count(LifecycleState.CONNECTED) == 2, "the client is connected again", 90)
        people.put("k", Person("Bob", 40, "Paris"))
        assert people.key_set(equal("city", "Paris")) == ["k"]
    finally:
        client.shutdown()
