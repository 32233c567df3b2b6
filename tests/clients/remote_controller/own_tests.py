"""Runs the Python client's own integration tests through the remote controller and prints what passed, file by file.

    python own_tests.py <checkout> [--filbert <binary> | --java <jars>] [--group core|structures|cp|sql|connections|all] [--json file] [name ...]

A name chooses the files whose path contains it. A test that fails in `setUpClass` counts as failed. Each test and each
file has a deadline, so that one that hangs costs minutes and not the run. The exit code says only whether the run itself
worked; `--least` makes it fail below a percentage.
"""

import argparse
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import asdict, dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONTROLLER_PORT = 9701
TEST_DEADLINE_S = 90
FILE_DEADLINE_S = 900

CORE = ["proxy/map_test", "proxy/map_nearcache_test", "proxy/list_test", "proxy/queue_test", "proxy/topic_test", "proxy/executor_test",
        "predicate_test", "hazelcast_json_value_test"]  # fmt: skip
CONNECTIONS = ["backup_acks_test", "client_test", "cluster_test", "connection_strategy_test", "heartbeat_test",
               "invocation_test", "lifecycle_test", "listener_test", "reconnect_test", "shutdown_test",
               "smart_listener_test", "statistics_test"]  # fmt: skip
STRUCTURES = ["proxy/set_test", "proxy/multi_map_test", "proxy/replicated_map_test", "proxy/ringbuffer_test",
              "proxy/reliable_topic_test", "proxy/flake_id_generator_test", "proxy/pn_counter_test"]  # fmt: skip
CP = ["proxy/cp/atomic_long_test", "proxy/cp/atomic_reference_test", "proxy/cp/count_down_latch_test",
      "proxy/cp/semaphore_test", "proxy/cp/fenced_lock_test",
      # The asyncio form has no folder of its own for them.
      "proxy/atomic_long_test", "proxy/atomic_reference_test", "proxy/countdown_latch_test", "proxy/semaphore_test",
      "proxy/fenced_lock_test"]  # fmt: skip
SQL = ["sql_test"]
DBAPI = ["dbapi/db_test", "dbapi/hazelcast_dbapi20_test"]
# Each in two forms: synchronous and asyncio.
FLAVOURED = {"core": CORE, "structures": STRUCTURES, "cp": CP, "sql": SQL, "connections": CONNECTIONS}
EXTRA = ["backward_compatible/proxy/distributed_objects_test", "connection_manager_test",
         "asyncio/connection_manager_test", "asyncio/cancel_test"]  # fmt: skip


@dataclass
class FileResult:
    """What one file of tests gave."""

    file: str
    group: str
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    failures: dict = field(default_factory=dict)
    note: str = ""

    @property
    def total(self):
        return self.passed + self.failed


def files_of(checkout, group, names):
    """(group, path) of each file to run, in a fixed order."""
    chosen = []
    for name, stems in FLAVOURED.items():
        for flavour in ("backward_compatible", "asyncio"):
            chosen += [(name, f"tests/integration/{flavour}/{stem}.py") for stem in stems]
    chosen += [("sql", f"tests/integration/{stem}.py") for stem in DBAPI]
    chosen += [("connections", f"tests/integration/{stem}.py") for stem in EXTRA]
    return [
        (of, path)
        for of, path in chosen
        if group in (of, "all")
        and (checkout / path).exists()
        and (not names or any(name in path for name in names))
    ]


class ControllerProcess:
    """The remote controller as a process of its own, ended by its id."""

    def __init__(self, checkout, options, folder):
        command = [sys.executable, str(HERE / "server.py"), "--checkout", str(checkout), "--folder", str(folder)]
        command += ["--java", options.java] if options.java else ["--filbert", options.filbert or ""]
        self.log = folder / "controller.log"
        with open(self.log, "w") as out:
            self.process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not listens(CONTROLLER_PORT):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.end()
                sys.exit(f"the remote controller did not start:\n{self.log.read_text()[-2000:]}")
            time.sleep(0.1)

    def clean(self, checkout):
        """Ends what a file of tests left running."""
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); from tests.hzrc.client import HzRemoteController as C; "
            "C('127.0.0.1', int(sys.argv[2])).clean()"
        )
        subprocess.run([sys.executable, "-c", code, str(checkout), str(CONTROLLER_PORT)], timeout=120, check=False)

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(10)


def listens(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def run_file(checkout, group, path, folder):
    """Runs one file by pytest in a process of its own and reads the report."""
    report = folder / (path.replace("/", "_") + ".xml")
    output = folder / (path.replace("/", "_") + ".log")
    command = [
        sys.executable, "-m", "pytest", path, "-q", "-p", "no:cacheprovider", "-o", "addopts=", "--tb=short",
        f"--timeout={TEST_DEADLINE_S}", f"--junitxml={report}",
    ]  # fmt: skip
    result = FileResult(path.removeprefix("tests/integration/"), group)
    started = time.monotonic()
    with open(output, "w") as out:
        process = subprocess.Popen(
            command, cwd=checkout, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        try:
            process.wait(FILE_DEADLINE_S)
        except subprocess.TimeoutExpired:
            result.note = f"ended after {FILE_DEADLINE_S} s"
        finally:
            if process.poll() is None:
                process.kill()
                process.wait(10)
    result.seconds = round(time.monotonic() - started, 1)
    if report.exists():
        read_report(report, result)
    else:
        result.note = result.note or f"no report (pytest ended with {process.returncode})"
        read_progress(output, result)
    return result


def read_report(report, result):
    """Counts each test once, however many errors it had."""
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rsplit('.', 1)[-1]}.{case.get('name')}"
        bad = case.find("failure") if case.find("failure") is not None else case.find("error")
        if bad is not None:
            result.failures[name] = reason_of(bad)
        elif case.find("skipped") is not None:
            result.skipped += 1
        else:
            result.passed += 1
    result.failed = len(result.failures)


def read_progress(output, result):
    """What the dots of an unfinished run say."""
    for marks in re.findall(r"^\S+\.py ([.FEsx]+)", output.read_text(errors="replace"), re.MULTILINE):
        result.passed += marks.count(".")
        result.skipped += marks.count("s")
        result.failed += marks.count("F") + marks.count("E")


def reason_of(element):
    """One line that says why a test failed."""
    message = (element.get("message") or element.text or "").strip()
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[0][:200] if lines else "?"


def table(results):
    """The results as a Markdown table with a total for each group."""
    lines = ["| File | Passed | Failed | Skipped | Passed of run |", "|---|--:|--:|--:|--:|"]
    for result in results:
        note = f" ({result.note})" if result.note else ""
        lines.append(row(f"{result.file}{note}", result.passed, result.failed, result.skipped))
    for group in (*FLAVOURED, None):
        of = [r for r in results if group in (None, r.group)]
        if of and (group or len({r.group for r in of}) > 1):
            passed, failed, skipped = (sum(getattr(r, key) for r in of) for key in ("passed", "failed", "skipped"))
            lines.append(row(f"**{group or 'all'}**", passed, failed, skipped))
    return "\n".join(lines)


def row(name, passed, failed, skipped):
    run = passed + failed
    return f"| {name} | {passed} | {failed} | {skipped} | {f'{100 * passed / run:.1f}%' if run else '-'} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a checkout of hazelcast-python-client")
    parser.add_argument("names", nargs="*", help="only files whose path contains one of these")
    parser.add_argument("--filbert", default=os.environ.get("FILBERT_BIN"))
    parser.add_argument("--java", help="the jars of a real Hazelcast, to start that instead")
    parser.add_argument("--group", choices=[*FLAVOURED, "all"], default="all")
    parser.add_argument("--json", metavar="FILE", help="write the results there as JSON, '-' is standard output")
    parser.add_argument("--least", type=float, default=0, help="fail when a smaller percentage of a group's tests passes, connections aside")
    parser.add_argument("--folder", type=Path, help="where logs and reports go (default: a new folder)")
    options = parser.parse_intermixed_args()
    checkout = options.checkout.resolve()
    if not (checkout / "tests/hzrc").is_dir():
        sys.exit(f"{checkout} is not a checkout of hazelcast-python-client: it has no tests/hzrc")
    files = files_of(checkout, options.group, options.names)
    if not files:
        sys.exit(f"no file of group {options.group} has {' or '.join(options.names)} in its path")
    if listens(CONTROLLER_PORT):
        sys.exit(f"something listens on port {CONTROLLER_PORT} already; the remote controller needs it")
    folder = (options.folder or Path(tempfile.mkdtemp(prefix="own-tests-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    controller = ControllerProcess(checkout, options, folder)
    results = []
    try:
        for group, path in files:
            result = run_file(checkout, group, path, folder)
            controller.clean(checkout)
            results.append(result)
            print(f"{result.file}: {result.passed} passed, {result.failed} failed, {result.skipped} skipped, "
                  f"{result.seconds} s {result.note}", file=sys.stderr, flush=True)  # fmt: skip
    finally:
        controller.end()
    if options.json == "-":
        print(json.dumps([asdict(r) for r in results], indent=1))
    else:
        print(table(results))
        print(f"\nLogs: {folder}")
        if options.json:
            Path(options.json).write_text(json.dumps([asdict(r) for r in results], indent=1))
    for group in (group for group in FLAVOURED if group != "connections"):
        of = [r for r in results if r.group == group]
        total = sum(r.total for r in of)
        if total and 100 * sum(r.passed for r in of) / total < options.least:
            sys.exit(f"fewer than {options.least}% of the {group} tests passed")


if __name__ == "__main__":
    main()
