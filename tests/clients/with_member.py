"""Starts a member as the Python suite does, sets FILBERT_ADDRESS, runs a command, ends the member.

    python with_member.py <command> ...

`FILBERT_BIN` or `HAZELCAST_JARS` say which member; with FILBERT_ADDRESS set already, the command just runs.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "python"))


def main():
    if os.environ.get("FILBERT_ADDRESS"):
        sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)
    import conftest

    with tempfile.TemporaryDirectory(prefix="filbert-member-") as folder:
        cluster = conftest.new_cluster(folder)
        cluster.start(int(os.environ.get("FILBERT_PORT", "0")) or None)
        try:
            done = subprocess.run(sys.argv[1:], env={**os.environ, "FILBERT_ADDRESS": cluster.address}, check=False)
        finally:
            cluster.end()
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
