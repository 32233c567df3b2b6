"""ReplicatedMap: every method."""

import pytest
from hazelcast.predicate import sql
from hazelcast.proxy.base import EntryEventType
from waiting import Seen, eventually


@pytest.fixture
def replicated(client, name):
    made = client.get_replicated_map(name).blocking()
    yield made
    made.destroy()


def test_put_get_remove(replicated):
    assert replicated.put("k", 1) is None and replicated.put("k", 2) == 1
    assert replicated.get("k") == 2 and replicated.get("x") is None
    assert replicated.remove("k") == 2 and replicated.remove("k") is None


def test_size_and_empty(replicated):
    assert replicated.is_empty() and replicated.size() == 0
    replicated.put_all({n: n for n in range(100)})
    assert not replicated.is_empty() and replicated.size() == 100
    replicated.clear()
    assert replicated.is_empty()


def test_contains(replicated):
    replicated.put("k", "v")
    assert replicated.contains_key("k") and not replicated.contains_key("v")
    assert replicated.contains_value("v") and not replicated.contains_value("k")


def test_all_keys_values_and_entries(replicated):
    replicated.put_all({"a": 1, "b": 2})
    assert sorted(replicated.key_set()) == ["a", "b"]
    assert sorted(replicated.values()) == [1, 2]
    assert sorted(replicated.entry_set()) == [("a", 1), ("b", 2)]


def test_an_entry_goes_when_its_time_is_over(replicated):
    evicted = Seen()
    replicated.add_entry_listener(evicted_func=evicted)
    replicated.put("k", "v", 1)
    assert replicated.get("k") == "v"
    eventually(lambda: not replicated.contains_key("k"), "the entry's end")
    assert [(e.key, e.event_type) for e in evicted.wait_for(1)] == [("k", EntryEventType.EVICTED)]


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize("predicate", [None, sql("this >= 10")])
def test_listener(replicated, key, predicate):
    added, updated, removed, cleared = Seen(), Seen(), Seen(), Seen()
    registration = replicated.add_entry_listener(
        key=key, predicate=predicate, added_func=added, updated_func=updated, removed_func=removed,
        clear_all_func=cleared,
    )  # fmt: skip
    replicated.put("k", 1)
    replicated.remove("k")
    replicated.put("k", 10)
    replicated.put("k", 11)
    replicated.remove("k")
    replicated.put("other", 12)
    heard_added = [("k", 10)] if predicate else [("k", 1), ("k", 10)]
    heard_added += [] if key else [("other", 12)]
    heard = [(e.key, e.value) for e in added.wait_for(len(heard_added))]
    assert sorted(heard) == sorted(heard_added), "in order for each key"
    assert [(e.key, e.value, e.old_value) for e in updated.wait_for(1)] == [("k", 11, 10)]
    assert len(removed.wait_for(1 if predicate else 2)) == (1 if predicate else 2)
    replicated.clear()
    cleared.wait_for(1)
    assert replicated.remove_entry_listener(registration)
    assert not replicated.remove_entry_listener(registration)


def test_it_is_not_the_map_of_its_name(client, replicated, name):
    other = client.get_map(name).blocking()
    other.put("k", "map")
    assert replicated.get("k") is None
    other.destroy()
