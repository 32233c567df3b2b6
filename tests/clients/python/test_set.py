"""ISet: every method. `bounded*` sets hold three items."""

import pytest
from hazelcast.proxy.base import ItemEventType
from waiting import Seen


@pytest.fixture
def a_set(client, name):
    made = client.get_set(name).blocking()
    yield made
    made.destroy()


def test_each_item_is_there_once(a_set):
    assert a_set.add("a") and a_set.add("b") and not a_set.add("a")
    assert a_set.size() == 2 and sorted(a_set.get_all()) == ["a", "b"]


def test_size_and_empty(a_set):
    assert a_set.is_empty() and a_set.size() == 0
    a_set.add(1)
    assert not a_set.is_empty()
    a_set.clear()
    assert a_set.is_empty()


def test_add_all(a_set):
    assert a_set.add_all(["a", "b", "a"]) and not a_set.add_all(["a", "b"])
    assert a_set.size() == 2


def test_contains(a_set):
    a_set.add_all(["a", "b"])
    assert a_set.contains("a") and not a_set.contains("x")
    assert a_set.contains_all(["a", "b"]) and not a_set.contains_all(["a", "x"])


def test_remove(a_set):
    a_set.add("a")
    assert a_set.remove("a") and not a_set.remove("a")


def test_remove_all_and_retain_all(a_set):
    a_set.add_all(["a", "b", "c", "d"])
    assert a_set.remove_all(["a", "x"]) and not a_set.remove_all(["x"])
    assert a_set.retain_all(["b", "c"]) and not a_set.retain_all(["b", "c"])
    assert sorted(a_set.get_all()) == ["b", "c"]


@pytest.mark.needs_config
def test_a_full_set_refuses(client, name):
    bounded = client.get_set(f"bounded-{name}").blocking()
    assert bounded.add_all([1, 2]) and not bounded.add_all([3, 4])
    assert bounded.add(3) and not bounded.add(4)
    assert sorted(bounded.get_all()) == [1, 2, 3]
    bounded.destroy()


@pytest.mark.parametrize("include_value", [True, False])
def test_listener(a_set, include_value):
    added, removed = Seen(), Seen()
    registration = a_set.add_listener(include_value=include_value, item_added_func=added, item_removed_func=removed)
    a_set.add("a")
    a_set.add("a")
    a_set.remove("a")
    item = "a" if include_value else None
    assert [(e.event_type, e.item) for e in removed.wait_for(1)] == [(ItemEventType.REMOVED, item)]
    assert [(e.event_type, e.item) for e in added.wait_for(1)] == [(ItemEventType.ADDED, item)]
    assert a_set.remove_listener(registration)
    assert not a_set.remove_listener(registration)


def test_a_destroyed_set_is_made_again_empty(client, name):
    first = client.get_set(name).blocking()
    first.add("a")
    first.destroy()
    again = client.get_set(name).blocking()
    assert again.is_empty()
    again.destroy()
