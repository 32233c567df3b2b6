"""The programs in the pages for Python users print what the pages say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
# A program, and below it what it prints.
PROGRAM = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)
CLIENT = "hazelcast.HazelcastClient()"


def programs():
    for page in ["README.md", "docs/start-python.md"]:
        found = PROGRAM.findall((ROOT / page).read_text())
        assert found, f"{page} has no program with what it prints"
        yield from (pytest.param(program, printed, id=f"{page}-{number}") for number, (program, printed) in enumerate(found))


@pytest.mark.filbert_only
@pytest.mark.needs_config
@pytest.mark.parametrize(("program", "printed"), list(programs()))
def test_a_program_of_a_page_prints_what_the_page_says(own_cluster, program, printed):
    assert CLIENT in program
    here = program.replace(CLIENT, f"hazelcast.HazelcastClient(cluster_members=[{own_cluster.address!r}])")
    ran = subprocess.run([sys.executable, "-c", here], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == printed
