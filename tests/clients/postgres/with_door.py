"""Starts a member with a PostgreSQL door, sets FILBERT_POSTGRES, runs a command, ends the member.

    python with_door.py <command> ...

With FILBERT_POSTGRES set already, the command just runs.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))


def main():
    if os.environ.get("FILBERT_POSTGRES"):
        sys.exit(subprocess.run(sys.argv[1:], check=False).returncode)
    import conftest

    with tempfile.TemporaryDirectory(prefix="filbert-member-") as folder:
        member, address = conftest.start(os.environ["FILBERT_BIN"], Path(folder))
        try:
            done = subprocess.run(sys.argv[1:], env={**os.environ, "FILBERT_POSTGRES": address}, check=False)
        finally:
            member.terminate()
            member.wait(timeout=60)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
