"""Copies maps from a Hazelcast cluster into a Filbert member (or the other way), with Hazelcast's Python client.

    pip install hazelcast-python-client==5.7.0
    python copy_from_hazelcast.py 10.0.0.1:5701 127.0.0.1:5701 orders customers

Keys and values are copied as the bytes that they are, so that no class of theirs is needed here. Ends with 1 when a map has values
that are written as Compact: their schemas are known to programs with their classes only, so a program of yours must copy them.
What is there already is written over; what is written meanwhile may be missed, so stop the writers, or copy again.
Times to live are copied with --with-ttl, which asks for every entry by itself.
"""

import argparse
import sys
import time

from hazelcast import HazelcastClient

COMPACT = -55
BATCH = 500


def connect(address, cluster_name):
    client = HazelcastClient(cluster_members=[address], cluster_name=cluster_name, cluster_connect_timeout=20)
    # What arrives stays bytes; what is sent as bytes is sent as it is.
    client._serialization_service.to_object = lambda data: data
    return client


def copy(old, new, with_ttl):
    """Copies one map; says how many entries, or raises ValueError for what it cannot copy."""
    keys, copied = list(old.key_set()), 0
    for first in range(0, len(keys), BATCH):
        entries = old.get_all(keys[first : first + BATCH])
        for data in (*entries.keys(), *entries.values()):
            if data.get_type() == COMPACT:
                raise ValueError(f"{old.name} has Compact values; copy them by a program that has their classes")
        if with_ttl:
            for key, value in entries.items():
                new.set(key, value, seconds_left(old.get_entry_view(key)))
        else:
            new.put_all(entries)
        copied += len(entries)
    return copied


def seconds_left(view):
    """What remains of an entry's time; None for one without an end, or that is gone."""
    if view is None or view.ttl in (0, 2**63 - 1) or view.expiration_time == 2**63 - 1:
        return None
    return max(view.expiration_time / 1000 - time.time(), 1)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("old", help="host:port of a member to read from")
    words.add_argument("new", help="host:port of the member to write to")
    words.add_argument("maps", nargs="+", help="names of maps")
    words.add_argument("--old-cluster", default="dev")
    words.add_argument("--new-cluster", default="dev")
    words.add_argument("--with-ttl", action="store_true")
    given = words.parse_args()
    old, new = connect(given.old, given.old_cluster), connect(given.new, given.new_cluster)
    failed = False
    try:
        for name in given.maps:
            source, target = old.get_map(name).blocking(), new.get_map(name).blocking()
            try:
                copied = copy(source, target, given.with_ttl)
            except ValueError as error:
                print(error, file=sys.stderr)
                failed = True
                continue
            print(f"{name}: {copied} entries copied, {target.size()} there now")
    finally:
        old.shutdown()
        new.shutdown()
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
