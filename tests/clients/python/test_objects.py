"""The structures of a member as things that are made, listed, listened for and destroyed."""

import pytest
from hazelcast.core import DistributedObjectEventType
from hazelcast.proxy import EXECUTOR_SERVICE, LIST_SERVICE, MAP_SERVICE, QUEUE_SERVICE, TOPIC_SERVICE
from waiting import Seen, eventually

MAKERS = {
    MAP_SERVICE: "get_map",
    LIST_SERVICE: "get_list",
    QUEUE_SERVICE: "get_queue",
    TOPIC_SERVICE: "get_topic",
    EXECUTOR_SERVICE: "get_executor",
}


@pytest.mark.parametrize("service, maker", MAKERS.items(), ids=[maker[4:] for maker in MAKERS.values()])
def test_life_of_a_proxy(client, new_client, name, service, maker):
    other = new_client()
    heard = Seen()
    registration = other.add_distributed_object_listener(heard).result()
    made = getattr(client, maker)(name)
    mine = eventually(lambda: [e for e in heard if e.name == name])
    assert [(e.service_name, e.event_type) for e in mine] == [(service, DistributedObjectEventType.CREATED)]
    assert name in [found.name for found in other.get_distributed_objects() if found.service_name == service]
    made.destroy()
    eventually(lambda: len([e for e in heard if e.name == name]) == 2)
    assert [e for e in heard if e.name == name][1].event_type == DistributedObjectEventType.DESTROYED
    assert other.remove_distributed_object_listener(registration).result()


def test_a_destroyed_map_is_empty_when_made_again(client, name):
    client.get_map(name).blocking().put("k", "v")
    client.get_map(name).blocking().destroy()
    again = client.get_map(name).blocking()
    assert again.size() == 0
    again.destroy()


def test_destroy_of_one_leaves_others_of_the_same_name(client, name):
    a_list = client.get_list(name).blocking()
    a_list.add(1)
    a_map = client.get_map(name).blocking()
    a_map.put("k", "v")
    a_map.destroy()
    assert a_list.size() == 1
    a_list.destroy()


def test_a_removed_listener_hears_nothing(client, name):
    gone, still = Seen(), Seen()
    registration = client.add_distributed_object_listener(gone).result()
    kept = client.add_distributed_object_listener(still).result()
    client.remove_distributed_object_listener(registration).result()
    client.get_map(name).destroy()
    eventually(lambda: any(e.name == name for e in still))
    assert not [e for e in gone if e.name == name]
    client.remove_distributed_object_listener(kept).result()
