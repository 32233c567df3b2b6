"""Ringbuffer and, on top of it, ReliableTopic. `small*` holds four items, `aging*` two for two seconds."""

import pytest
from fixtures import HasPrefix
from hazelcast.config import TopicOverloadPolicy
from hazelcast.errors import StaleSequenceError, TopicOverloadError
from hazelcast.proxy.reliable_topic import ReliableMessageListener
from hazelcast.proxy.ringbuffer import OVERFLOW_POLICY_FAIL, OVERFLOW_POLICY_OVERWRITE
from waiting import Seen, eventually


@pytest.fixture
def ringbuffer(client, name):
    made = client.get_ringbuffer(name).blocking()
    yield made
    made.destroy()


@pytest.fixture
def small(client, name):
    made = client.get_ringbuffer(f"small-{name}").blocking()
    yield made
    made.destroy()


def test_it_is_empty_at_first(ringbuffer):
    assert (ringbuffer.head_sequence(), ringbuffer.tail_sequence(), ringbuffer.size()) == (0, -1, 0)
    assert ringbuffer.capacity() == ringbuffer.remaining_capacity() == 10_000


def test_items_have_numbers(ringbuffer):
    assert [ringbuffer.add(item) for item in "abc"] == [0, 1, 2]
    assert ringbuffer.add_all(["d", "e"]) == 4
    assert [ringbuffer.read_one(number) for number in range(5)] == list("abcde")
    assert (ringbuffer.head_sequence(), ringbuffer.tail_sequence(), ringbuffer.size()) == (0, 4, 5)


@pytest.mark.needs_config
def test_the_oldest_are_overwritten(small):
    small.add_all(list(range(6)), OVERFLOW_POLICY_OVERWRITE)
    assert (small.head_sequence(), small.tail_sequence(), small.size()) == (2, 5, 4)
    with pytest.raises(StaleSequenceError):
        small.read_one(1)
    many = small.read_many(0, 1, 4)
    assert (list(many), many.read_count, many.next_sequence_to_read_from) == ([2, 3, 4, 5], 4, 6)
    assert [many.get_sequence(place) for place in range(4)] == [2, 3, 4, 5]


@pytest.mark.needs_config
def test_items_that_are_too_old_make_room(client, name):
    aging = client.get_ringbuffer(f"aging-{name}").blocking()
    assert aging.add_all(["a", "b"], OVERFLOW_POLICY_FAIL) == 1
    assert aging.remaining_capacity() == 0 and aging.add("c", OVERFLOW_POLICY_FAIL) == -1
    assert eventually(lambda: aging.add("c", OVERFLOW_POLICY_FAIL) + 1, "room") == 3
    aging.destroy()


def test_read_many_waits_for_enough(client, ringbuffer, name):
    ringbuffer.add(0)
    reading = [client.get_ringbuffer(name).read_many(1, 3, 10) for _ in range(50)]
    ringbuffer.add_all([1, 2])
    assert ringbuffer.read_many(0, 0, 2).size == 2
    assert not any(read.done() for read in reading)
    ringbuffer.add(3)
    for read in reading:
        assert list(read.result()) == [1, 2, 3]


def test_a_read_begins_no_later_than_the_next_item(client, ringbuffer, name):
    reading = client.get_ringbuffer(name).read_many(5, 1, 10)
    ringbuffer.size()
    ringbuffer.add("a")
    assert list(reading.result()) == ["a"]


def test_read_one_waits_for_the_next(client, ringbuffer, name):
    reading = client.get_ringbuffer(name).read_one(0)
    ringbuffer.add("a")
    assert reading.result() == "a"


@pytest.mark.needs_fixtures
def test_a_filter_chooses(client, ringbuffer, name):
    waits = client.get_ringbuffer(name).read_many(0, 3, 3, HasPrefix("good"))
    ringbuffer.add_all(["good1", "bad", "good2"])
    chosen = ringbuffer.read_many(0, 0, 10, HasPrefix("good"))
    assert (list(chosen), chosen.read_count) == (["good1", "good2"], 3)
    ringbuffer.add_all(["bad", "good3"])
    assert list(waits.result()) == ["good1", "good2", "good3"]


def test_many_messages_of_many_publishers(client, name):
    topic, heard = client.get_reliable_topic(name).blocking(), Seen()
    topic.add_listener(heard)
    for number in range(20):
        topic.publish(number)
    topic.publish_all(list(range(20, 120)))
    assert [message.message for message in heard.wait_for(120)] == list(range(120))
    topic.destroy()


def test_a_listener_can_begin_in_the_past_and_end(client, name):
    class Past(ReliableMessageListener):
        def __init__(self):
            self.heard = Seen()

        def on_message(self, message):
            self.heard(message.message)

        def retrieve_initial_sequence(self):
            return 1

        def store_sequence(self, sequence):
            pass

        def is_loss_tolerant(self):
            return False

        def is_terminal(self, error):
            return False

    topic, past = client.get_reliable_topic(name).blocking(), Past()
    topic.publish_all(["a", "b", "c"])
    registration = topic.add_listener(past)
    assert past.heard.wait_for(2) == ["b", "c"]
    assert topic.remove_listener(registration) and not topic.remove_listener(registration)
    topic.destroy()


@pytest.mark.needs_config
def test_a_full_topic_says_so(new_client, name):
    full = f"aging-{name}"
    client = new_client(reliable_topics={full: {"overload_policy": TopicOverloadPolicy.ERROR}})
    topic = client.get_reliable_topic(full).blocking()
    topic.publish_all([1, 2])
    with pytest.raises(TopicOverloadError):
        topic.publish(3)
    topic.destroy()
