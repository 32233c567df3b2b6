"""MultiMap: every method. The values of `listed*` multimaps are lists, of all others sets."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hazelcast.proxy.base import EntryEventType
from hazelcast.errors import IllegalMonitorStateError
from waiting import Seen, eventually


@pytest.fixture
def multi_map(client, name):
    made = client.get_multi_map(name).blocking()
    yield made
    made.destroy()


@pytest.fixture
def elsewhere():
    """Another thread, and so another owner of locks."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


def test_a_key_has_values(multi_map):
    assert multi_map.put("k", 1) and multi_map.put("k", 2) and not multi_map.put("k", 1)
    assert sorted(multi_map.get("k")) == [1, 2] and multi_map.get("x") == []
    assert multi_map.value_count("k") == 2 and multi_map.value_count("x") == 0
    assert multi_map.size() == 2


@pytest.mark.needs_config
def test_values_can_be_a_list(client, name):
    listed = client.get_multi_map(f"listed-{name}").blocking()
    assert listed.put("k", 2) and listed.put("k", 1) and listed.put("k", 2)
    assert listed.get("k") == [2, 1, 2]
    assert listed.remove("k", 2) and listed.get("k") == [1, 2]
    listed.destroy()


def test_contains(multi_map):
    multi_map.put("k", 1)
    assert multi_map.contains_key("k") and not multi_map.contains_key("x")
    assert multi_map.contains_value(1) and not multi_map.contains_value(2)
    assert multi_map.contains_entry("k", 1) and not multi_map.contains_entry("k", 2)
    assert not multi_map.contains_entry("x", 1)


def test_remove(multi_map):
    for value in range(3):
        multi_map.put("k", value)
    assert multi_map.remove("k", 1) and not multi_map.remove("k", 1)
    assert sorted(multi_map.remove_all("k")) == [0, 2]
    assert multi_map.remove_all("k") == [] and not multi_map.contains_key("k")


def test_put_all(multi_map):
    multi_map.put_all({"a": [1, 2], "b": [3]})
    assert sorted(multi_map.get("a")) == [1, 2] and multi_map.get("b") == [3]


def test_all_keys_values_and_entries(multi_map):
    multi_map.put_all({"a": [1, 2], "b": [2]})
    assert sorted(multi_map.key_set()) == ["a", "b"]
    assert sorted(multi_map.values()) == [1, 2, 2]
    assert sorted(multi_map.entry_set()) == [("a", 1), ("a", 2), ("b", 2)]


def test_clear(multi_map):
    multi_map.put_all({str(key): [1, 2, 3] for key in range(50)})
    assert multi_map.size() == 150
    multi_map.clear()
    assert multi_map.size() == 0 and multi_map.key_set() == []


def test_locks(multi_map, elsewhere):
    multi_map.lock("k")
    assert multi_map.is_locked("k") and not multi_map.is_locked("x")
    assert multi_map.try_lock("k"), "its owner takes it again"
    multi_map.unlock("k")
    assert not elsewhere.submit(multi_map.try_lock, "k").result(30)
    assert not elsewhere.submit(multi_map.try_lock, "k", None, 0.1).result(30)
    with pytest.raises(IllegalMonitorStateError):
        elsewhere.submit(multi_map.unlock, "k").result(30)
    waits = elsewhere.submit(multi_map.put, "k", 1)
    assert multi_map.put("k", 2), "its owner does not wait"
    multi_map.unlock("k")
    assert waits.result(30)
    assert not multi_map.is_locked("k")


def test_a_lease_ends(multi_map, elsewhere):
    multi_map.lock("k", 0.5)
    elsewhere.submit(multi_map.lock, "k").result(30)
    multi_map.force_unlock("k")
    assert not multi_map.is_locked("k")


def test_locks_go_with_their_client(multi_map, name, new_client):
    other = new_client()
    other.get_multi_map(name).blocking().lock("k")
    assert multi_map.is_locked("k")
    other.shutdown()
    eventually(lambda: not multi_map.is_locked("k"), "the lock of a client that is gone")


@pytest.mark.parametrize("key", [None, "k"])
def test_listener(multi_map, key):
    added, removed, cleared = Seen(), Seen(), Seen()
    registration = multi_map.add_entry_listener(
        include_value=True, key=key, added_func=added, removed_func=removed, clear_all_func=cleared
    )
    multi_map.put("other", 0)
    multi_map.put("k", 1)
    multi_map.remove("k", 1)
    multi_map.put("k", 2)
    multi_map.remove_all("k")
    heard = [(e.key, e.value) for e in added.wait_for(2 if key else 3)]
    assert heard == ([] if key else [("other", 0)]) + [("k", 1), ("k", 2)]
    gone = removed.wait_for(2)
    assert [(e.key, e.old_value, e.event_type) for e in gone] == [("k", n, EntryEventType.REMOVED) for n in (1, 2)]
    multi_map.clear()
    assert cleared.wait_for(1)[0].number_of_affected_entries == 1
    assert multi_map.remove_entry_listener(registration)
    assert not multi_map.remove_entry_listener(registration)


def test_listener_without_values(multi_map):
    added = Seen()
    multi_map.add_entry_listener(include_value=False, added_func=added)
    multi_map.put("k", 1)
    assert [(e.key, e.value) for e in added.wait_for(1)] == [("k", None)]
