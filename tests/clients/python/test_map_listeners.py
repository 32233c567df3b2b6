"""Entry listeners: what they hear, in which order, and what they were not asked to hear."""

import pytest
from hazelcast.predicate import greater, sql
from hazelcast.proxy.map import EntryEventType
from waiting import Seen, eventually


@pytest.fixture
def heard():
    return Seen()


def listen_to(a_map, heard, *kinds, **settings):
    functions = {f"{kind}_func": heard for kind in kinds}
    return a_map.add_entry_listener(**{"include_value": True, **functions, **settings})


def told(event):
    return (event.event_type, event.key, event.value, event.old_value)


CASES = {
    "added": (lambda m: m.put("k", "a"), (EntryEventType.ADDED, "k", "a", None)),
    "updated": (lambda m: (m.put("k", "a"), m.put("k", "b")), (EntryEventType.UPDATED, "k", "b", "a")),
    "removed": (lambda m: (m.put("k", "a"), m.remove("k")), (EntryEventType.REMOVED, "k", None, "a")),
    "evicted": (lambda m: (m.put("k", "a"), m.evict("k")), (EntryEventType.EVICTED, "k", None, "a")),
}


@pytest.mark.parametrize("kind", CASES)
def test_each_kind_alone(a_map, heard, kind):
    """The other kinds happen too and must not be sent: a client drops the connection on what it did not ask for."""
    act, wanted = CASES[kind]
    listen_to(a_map, heard, kind)
    act(a_map)
    assert [told(event) for event in heard.wait_for(1)] == [wanted]
    assert a_map.size() in (0, 1), "the connection lives"


def test_expired(a_map, heard):
    listen_to(a_map, heard, "expired")
    a_map.put("k", "a", ttl=1)
    eventually(lambda: a_map.get("k") is None)
    assert told(heard.wait_for(1)[0]) == (EntryEventType.EXPIRED, "k", None, "a")


@pytest.mark.parametrize("kind, act", [("clear_all", "clear"), ("evict_all", "evict_all")])
def test_of_the_whole_map(a_map, heard, kind, act):
    listen_to(a_map, heard, kind)
    a_map.put_all({i: i for i in range(10)})
    getattr(a_map, act)()
    event = heard.wait_for(1)[0]
    assert event.number_of_affected_entries == 10
    assert event.event_type == getattr(EntryEventType, "CLEAR_ALL" if kind == "clear_all" else "EVICT_ALL")
    assert event.key is None and event.value is None


def test_without_values(a_map, heard):
    listen_to(a_map, heard, "added", "updated", "removed", include_value=False)
    a_map.put("k", "a")
    a_map.put("k", "b")
    a_map.remove("k")
    assert [(e.key, e.value, e.old_value) for e in heard.wait_for(3)] == [("k", None, None)] * 3


def test_of_one_key(a_map, heard):
    listen_to(a_map, heard, "added", key="mine")
    a_map.put("other", "a")
    a_map.put("mine", "b")
    assert [event.key for event in heard.wait_for(1)] == ["mine"]


def test_with_a_predicate(a_map, heard):
    listen_to(a_map, heard, "added", "removed", predicate=greater("this", 5))
    for value in range(10):
        a_map.put(value, value)
    for value in range(10):
        a_map.remove(value)
    events = heard.wait_for(8)
    assert sorted(e.key for e in events if e.event_type == EntryEventType.ADDED) == [6, 7, 8, 9]
    assert sorted(e.key for e in events if e.event_type == EntryEventType.REMOVED) == [6, 7, 8, 9]


def test_with_a_predicate_of_one_key(a_map, heard):
    listen_to(a_map, heard, "added", "updated", predicate=sql("this > 5"), key="k")
    a_map.put("k", 1)
    a_map.put("other", 9)
    a_map.put("k", 7)
    assert told(heard.wait_for(1)[0])[1:3] == ("k", 7)


def test_events_of_a_key_come_in_order(a_map, heard):
    listen_to(a_map, heard, "added", "updated")
    for value in range(300):
        a_map.set("k", value)
    assert [event.value for event in heard.wait_for(300)] == list(range(300))


def test_each_write_is_told_once(a_map, heard):
    listen_to(a_map, heard, "added")
    a_map.put_all({i: i for i in range(500)})
    heard.wait_for(500)
    assert sorted(event.key for event in heard) == list(range(500))


def test_the_event_names_the_member(a_map, heard, client):
    listen_to(a_map, heard, "added")
    a_map.put("k", "a")
    assert heard.wait_for(1)[0].uuid == client.cluster_service.get_members()[0].uuid


def test_a_removed_listener_hears_nothing(a_map, heard):
    removed = listen_to(a_map, heard, "added")
    still = Seen()
    a_map.add_entry_listener(added_func=still)
    assert a_map.remove_entry_listener(removed)
    a_map.put("k", "a")
    still.wait_for(1)
    assert heard == []
    assert not a_map.remove_entry_listener(removed)


def test_another_clients_writes_are_heard(a_map, heard, name, new_client):
    listen_to(a_map, heard, "added")
    new_client().get_map(name).blocking().put("k", "a")
    assert heard.wait_for(1)[0].key == "k"


def test_failed_writes_are_not_told(a_map, heard):
    listen_to(a_map, heard, "added", "updated", "removed")
    a_map.replace("k", "a")
    a_map.remove_if_same("k", "a")
    a_map.remove("k")
    a_map.put("k", "b")
    assert [event.event_type for event in heard.wait_for(1)] == [EntryEventType.ADDED]
