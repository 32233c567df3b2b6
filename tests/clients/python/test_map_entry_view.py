"""What the member knows of an entry beside its value."""

import time

import pytest


def test_of_an_absent_key(a_map):
    assert a_map.get_entry_view("k") is None


def test_key_value_and_limits(a_map):
    a_map.put("k", "v", ttl=1000, max_idle=500)
    view = a_map.get_entry_view("k")
    assert (view.key, view.value) == ("k", "v")
    assert view.ttl == 1_000_000 and view.max_idle == 500_000


def test_version_counts_writes(a_map):
    a_map.put("k", "a")
    first = a_map.get_entry_view("k").version
    a_map.put("k", "b")
    a_map.put("k", "c")
    assert a_map.get_entry_view("k").version == first + 2


@pytest.mark.needs_config
def test_statistics_of_an_entry(client, name):
    counted = client.get_map(f"with-stats-{name}").blocking()
    before = time.time() * 1000
    counted.put("k", "a")
    for _ in range(3):
        counted.get("k")
    counted.put("k", "b")
    view = counted.get_entry_view("k")
    assert view.hits == 4, "three gets and the put that found the entry"
    assert view.cost > 0
    # Hazelcast keeps seconds, so a time may lie a little before the call.
    assert view.creation_time >= before - 1000
    assert view.last_update_time >= view.creation_time
    assert view.last_access_time >= view.creation_time
    counted.destroy()
