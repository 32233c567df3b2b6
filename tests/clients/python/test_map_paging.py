"""Pages of an ordered result."""

import pytest
from fixtures import BY_ENTRY, BY_KEY, BY_LENGTH, BY_VALUE, DESCENDING, OrderEntries
from hazelcast.predicate import greater_or_equal, less, paging, true


@pytest.fixture
def fifty(a_map):
    a_map.put_all({f"key-{i}": i for i in range(50)})
    return a_map


def pages(call, predicate):
    """All pages, one after the other, until one is empty."""
    found = []
    while page := call(predicate):
        found.append(page)
        predicate.next_page()
    return found


def test_values_in_their_order(fifty):
    assert pages(fifty.values, paging(greater_or_equal("this", 40), 4)) == [[40, 41, 42, 43], [44, 45, 46, 47], [48, 49]]


def test_keys_in_their_order(fifty):
    keys = sorted(f"key-{i}" for i in range(50))
    assert [key for page in pages(fifty.key_set, paging(None, 7)) for key in page] == keys


def test_entries_in_the_order_of_keys_or_values(fifty):
    page = fifty.entry_set(paging(greater_or_equal("this", 48), 5))
    assert page == [("key-48", 48), ("key-49", 49)]


def test_any_page_directly(fifty):
    predicate = paging(true(), 10)
    predicate.page = 3
    assert fifty.values(predicate) == list(range(30, 40))
    predicate.previous_page()
    assert fifty.values(predicate) == list(range(20, 30))
    predicate.reset()
    assert fifty.values(predicate) == list(range(10))


def test_a_page_beyond_the_end_is_empty(fifty):
    predicate = paging(true(), 10)
    predicate.page = 99
    assert fifty.values(predicate) == []


def test_of_an_empty_map(a_map):
    assert a_map.values(paging(true(), 10)) == []


def test_equal_values_are_all_there(a_map):
    a_map.put_all({i: i // 2 for i in range(20)})
    found = [value for page in pages(a_map.values, paging(true(), 3)) for value in page]
    assert found == [i // 2 for i in range(20)]


@pytest.mark.needs_fixtures
@pytest.mark.parametrize("compare", [BY_KEY, BY_VALUE, BY_ENTRY])
def test_with_a_comparator_of_the_member(fifty, compare):
    predicate = paging(less("this", 10), 4, OrderEntries(DESCENDING, compare))
    assert pages(fifty.values, predicate) == [[9, 8, 7, 6], [5, 4, 3, 2], [1, 0]]


@pytest.mark.needs_fixtures
def test_with_a_comparator_by_length(a_map):
    a_map.put_all({"a": "xxx", "b": "x", "c": "xx"})
    assert a_map.key_set(paging(None, 10, OrderEntries(BY_LENGTH, BY_VALUE))) == ["b", "c", "a"]


def test_remove_in_pages(fifty):
    """Pages stay true while entries before them go."""
    predicate = paging(true(), 10)
    first = fifty.key_set(predicate)
    assert len(first) == 10
    predicate.next_page()
    for key in first:
        fifty.delete(key)
    assert set(fifty.key_set(predicate)).isdisjoint(first)
