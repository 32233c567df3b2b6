"""docs/copy_from_hazelcast.py, from one member to another."""

import subprocess
import sys
from pathlib import Path

from conftest import connect
from hazelcast.core import HazelcastJsonValue
from people import Person

SCRIPT = Path(__file__).resolve().parents[3] / "docs" / "copy_from_hazelcast.py"


def run(*words):
    return subprocess.run([sys.executable, SCRIPT, *words], capture_output=True, text=True, timeout=100, check=False)


def test_maps_are_copied(cluster, own_cluster, a_map, name):
    values = {"text": "ü", 7: [1, "a"], "json": HazelcastJsonValue('{"a": 1}'), 1.5: b"bytes", "none": True}
    a_map.put_all(values)
    a_map.put("short", "lived", ttl=1000)
    for words in ([], ["--with-ttl"]):
        done = run(cluster.address, own_cluster.address, name, *words)
        assert done.returncode == 0, done.stderr
        assert f"{name}: {len(values) + 1} entries copied" in done.stdout
    there = connect(own_cluster.address)
    try:
        copied = there.get_map(name).blocking()
        assert {key: copied.get(key) for key in values} == values
        assert 900 < copied.get_entry_view("short").ttl / 1000 <= 1000
    finally:
        there.shutdown()


def test_compact_values_are_refused(cluster, own_cluster, a_map, name):
    a_map.put("k", Person.number(1))
    done = run(cluster.address, own_cluster.address, name)
    assert done.returncode == 1 and "Compact" in done.stderr
