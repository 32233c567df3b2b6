"""Code that runs at the entry, in the member: on a key, on keys, on all, by predicate; and interceptors."""

import pytest
from fixtures import MultiplyKey, MultiplyKeyOrNull, PrefixOnGet, SetValue, WaitThenMultiplyKey
from hazelcast.errors import HazelcastError
from hazelcast.predicate import greater, sql
from waiting import Seen

pytestmark = pytest.mark.needs_fixtures


def test_on_a_key(a_map):
    a_map.put("k", "old")
    assert a_map.execute_on_key("k", SetValue("new")) == "new"
    assert a_map.get("k") == "new"


def test_on_an_absent_key_makes_the_entry(a_map):
    assert a_map.execute_on_key("k", SetValue("new")) == "new"
    assert a_map.get("k") == "new"


def test_on_keys(a_map):
    a_map.put_all({f"k{i}": "old" for i in range(10)})
    done = a_map.execute_on_keys(["k1", "k2"], SetValue("new"))
    assert sorted(done) == [("k1", "new"), ("k2", "new")]
    assert sorted(k for k, v in a_map.entry_set() if v == "new") == ["k1", "k2"]


def test_on_no_keys(a_map):
    assert a_map.execute_on_keys([], SetValue("new")) == []


def test_on_all_entries(a_map):
    a_map.put_all({f"k{i}": "old" for i in range(300)})
    assert len(a_map.execute_on_entries(SetValue("new"))) == 300
    assert set(a_map.values()) == {"new"}


def test_by_predicate(a_map):
    a_map.put_all({f"k{i}": f"v{i}" for i in range(10)})
    done = a_map.execute_on_entries(SetValue("new"), sql("this > 'v7'"))
    assert sorted(done) == [("k8", "new"), ("k9", "new")]
    assert a_map.get("k7") == "v7"


def test_of_nothing_that_matches(a_map):
    a_map.put("k", "v")
    assert a_map.execute_on_entries(SetValue("new"), sql("this = 'other'")) == []


def test_the_change_is_told_to_listeners(a_map):
    heard = Seen()
    a_map.add_entry_listener(include_value=True, updated_func=heard)
    a_map.put("k", "old")
    a_map.execute_on_key("k", SetValue("new"))
    event = heard.wait_for(1)[0]
    assert (event.key, event.value, event.old_value) == ("k", "new", "old")


def test_reads_its_key(a_map):
    assert a_map.execute_on_key(7, MultiplyKey(6)) == -1, "no such entry"


def test_may_give_nothing_back(a_map):
    assert a_map.execute_on_key(7, MultiplyKeyOrNull(6)) is None


def test_that_waits_holds_up_no_other_map(client, name, a_map):
    other = client.get_map(name + "-other").blocking()
    slow = client.get_map(name).execute_on_key(1, WaitThenMultiplyKey(1500, 2))
    for i in range(100):
        other.put(i, i)
    assert other.size() == 100
    assert slow.result() == -1
    other.destroy()


def test_that_is_not_registered_is_an_error(a_map):
    class Unknown(SetValue):
        ids = (66, 999)

    with pytest.raises(HazelcastError):
        a_map.execute_on_key("k", Unknown("new"))
    a_map.put("k", 1)
    assert a_map.key_set(greater("this", 0)) == ["k"], "the connection lives"


def test_interceptor(a_map):
    """Gets come back with the prefix, absent ones as the prefix alone; puts and removals are left as they are."""
    a_map.put("k", "v")
    registration = a_map.add_interceptor(PrefixOnGet("p-"))
    assert a_map.get("k") == "p-v"
    assert a_map.get("absent") == "p-"
    assert a_map.get_all(["k", "absent"]) == {"k": "p-v"}
    assert a_map.put("k", "w") == "v"
    assert a_map.put_if_absent("k", "x") == "w"
    assert a_map.values() == ["w"] and a_map.contains_value("w")
    assert a_map.entry_set(sql("this == w")) == [("k", "w")]
    assert a_map.remove("k") == "w"
    assert not a_map.contains_key("k")
    a_map.put("k", "v")
    assert a_map.remove_interceptor(registration)
    assert a_map.get("k") == "v"
    assert not a_map.remove_interceptor(registration)


def test_interceptors_are_a_chain(a_map):
    """Each is given what the one before made, in the order in which they were added; the same one is added once."""
    a_map.put("k", "v")
    first = a_map.add_interceptor(PrefixOnGet("1"))
    second = a_map.add_interceptor(PrefixOnGet("2"))
    assert a_map.add_interceptor(PrefixOnGet("1")) == first != second
    assert a_map.get("k") == "21v"
    assert a_map.remove_interceptor(first)
    assert a_map.get("k") == "2v"
    assert a_map.remove_interceptor(second)


def test_an_interceptor_that_fails_is_an_error(a_map):
    a_map.put("k", 1)
    registration = a_map.add_interceptor(PrefixOnGet("p-"))
    with pytest.raises(HazelcastError):
        a_map.get("k")
    assert a_map.size() == 1
    assert a_map.remove_interceptor(registration)
    assert a_map.get("k") == 1


def test_interceptors_go_with_the_map(client):
    name = "intercepted-then-destroyed"
    a_map = client.get_map(name).blocking()
    a_map.add_interceptor(PrefixOnGet("p-"))
    a_map.destroy()
    again = client.get_map(name).blocking()
    again.put("k", "v")
    assert again.get("k") == "v"
    again.destroy()
