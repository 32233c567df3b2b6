"""ITopic: everybody who listens gets everything, in the order of each publisher."""

import time

import pytest
from waiting import Seen


@pytest.fixture
def topic(client, name):
    made = client.get_topic(name).blocking()
    yield made
    made.destroy()


def test_a_message_arrives(topic, client):
    heard = Seen()
    topic.add_listener(heard)
    before = time.time() - 1
    topic.publish("hello")
    message = heard.wait_for(1)[0]
    assert message.message == "hello" and message.name == topic.name
    assert before <= message.publish_time <= time.time() + 1
    assert message.member.uuid == client.cluster_service.get_members()[0].uuid


def test_every_listener_gets_it(topic, name, new_client):
    mine, others = Seen(), Seen()
    topic.add_listener(mine)
    new_client().get_topic(name).blocking().add_listener(others)
    topic.publish("hello")
    assert mine.wait_for(1)[0].message == others.wait_for(1)[0].message == "hello"


def test_order_of_one_publisher(topic):
    heard = Seen()
    topic.add_listener(heard)
    for i in range(500):
        topic.publish(i)
    assert [message.message for message in heard.wait_for(500)] == list(range(500))


def test_order_of_each_of_several_publishers(topic, name, new_client):
    heard = Seen()
    topic.add_listener(heard)
    publishers = [new_client().get_topic(name).blocking() for _ in range(3)]
    for i in range(100):
        for who, publisher in enumerate(publishers):
            publisher.publish((who, i))
    heard.wait_for(300)
    for who in range(3):
        assert [m.message[1] for m in heard if m.message[0] == who] == list(range(100))


def test_publish_all(topic):
    heard = Seen()
    topic.add_listener(heard)
    topic.publish_all(list(range(100)))
    assert [message.message for message in heard.wait_for(100)] == list(range(100))


def test_a_removed_listener_hears_nothing(topic):
    gone, still = Seen(), Seen()
    registration = topic.add_listener(gone)
    topic.add_listener(still)
    assert topic.remove_listener(registration)
    topic.publish("hello")
    still.wait_for(1)
    assert gone == []
    assert not topic.remove_listener(registration)


def test_topics_are_apart(topic, client, name):
    heard, others = Seen(), Seen()
    topic.add_listener(heard)
    other = client.get_topic(name + "-other").blocking()
    other.add_listener(others)
    other.publish("other")
    others.wait_for(1)
    assert heard == []
    other.destroy()
