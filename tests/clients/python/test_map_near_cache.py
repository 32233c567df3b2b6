"""A client that keeps values near it is told when they change."""

import pytest
from hazelcast.config import InMemoryFormat
from waiting import eventually


@pytest.fixture
def near(new_client, name):
    client = new_client(near_caches={name: {"invalidate_on_change": True, "in_memory_format": InMemoryFormat.OBJECT}})
    return client.get_map(name).blocking()


def cached(near):
    return len(near._wrapped._near_cache)


def fill(a_map, near, count=10):
    a_map.put_all({i: i for i in range(count)})

    def read_all():
        for i in range(count):
            assert near.get(i) == i
        return cached(near) == count

    # Invalidations of the writes may still be on their way and empty the cache once more.
    eventually(read_all, "everything is kept near")


@pytest.mark.needs_config
def test_a_write_of_another_client_is_seen(a_map, near):
    fill(a_map, near)
    a_map.put(3, "new")
    eventually(lambda: near.get(3) == "new")


@pytest.mark.needs_config
def test_a_removal_of_another_client_is_seen(a_map, near):
    fill(a_map, near)
    a_map.remove(3)
    eventually(lambda: near.get(3) is None)


@pytest.mark.needs_config
@pytest.mark.parametrize("call", ["clear", "evict_all"])
def test_the_end_of_all_entries_is_seen(a_map, near, call):
    fill(a_map, near)
    getattr(a_map, call)()
    eventually(lambda: cached(near) == 0)
    assert near.get(1) is None
