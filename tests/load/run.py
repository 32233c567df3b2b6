#!/usr/bin/env python3
"""What a small statement and a cancel cost while a member is busy, and what an idle member costs.

    tests/load/run.py --binary target/release/filbert       all loads, some minutes
    tests/load/run.py --only nested --only cube --seconds 20
    tests/load/run.py --idle                                 CPU of an idle member

Each load runs four times at once (`sessions`: 300 times), from a process of its own, and begins anew when it ends. Beside it another process
asks `SELECT 1` on one connection that is open already, then cancels statements of its own. "ended" is how long it took until the statements of the
load were gone when they were cancelled at the end. The status is 1 when p99 of `SELECT 1` or of a cancel is above --bar-ms, or an idle
member takes more than --bar-cpu percent of a core. Needs Python alone; run nothing else beside it, or compare with the first line.
"""

import argparse
import json
import multiprocessing
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

HERE = Path(__file__).resolve().parent

CUBE_COLUMNS = ", ".join(f"v % {n + 2} AS c{n}" for n in range(14))
CUBE_BY = ", ".join(f"c{n}" for n in range(14))
NUMBERS = ", ".join(str(n * 7 + 1) for n in range(100_000))
WIDE = ", ".join(f"v + {n}" for n in range(5_000))
SERIES = "generate_series(1, {}) {}(v)"


def series(rows, name):
    return SERIES.format(rows, name)


# The loads of the audits: name, what it is, its statement.
LOADS = {
    "nested": (
        "nested loop, 100,000 x 1,000,000,000",
        f"SELECT count(*) FROM {series(100_000, 'a')} JOIN {series(1_000_000_000, 'b')} ON a.v + b.v < 0",
    ),
    "nested-large": (
        "nested loop, 10,000,000 x 10,000,000",
        f"SELECT count(*) FROM {series(10_000_000, 'a')} JOIN {series(10_000_000, 'b')} ON a.v + b.v < 0",
    ),
    "cross": (
        "cross join, 10,000,000 x 10,000,000",
        f"SELECT count(*) FROM {series(10_000_000, 'a')} CROSS JOIN {series(10_000_000, 'b')} WHERE a.v % 2 = b.v % 3",
    ),
    "in-list": (
        "IN of 100,000 numbers",
        f"SELECT count(*) FROM {series(100_000_000, 't')} WHERE v IN ({NUMBERS})",
    ),
    "wide": (
        "select list of 5,000 columns",
        f"SELECT {WIDE} FROM {series(10, 't')}",
    ),
    "cube": (
        "GROUP BY CUBE of 14 columns",
        f"SELECT count(*) FROM (SELECT count(*) FROM (SELECT {CUBE_COLUMNS} FROM {series(1_000, 't')}) "
        f"GROUP BY CUBE ({CUBE_BY}))",
    ),
    "cube-12": (
        "GROUP BY CUBE of 12 columns",
        f"SELECT count(*) FROM (SELECT count(*) FROM (SELECT {CUBE_COLUMNS} FROM {series(10_000, 't')}) "
        f"GROUP BY CUBE ({', '.join(f'c{n}' for n in range(12))}))",
    ),
    "texts": (
        "texts of 100 KB",
        f"SELECT sum(length(repeat('x', 100000 + cast(v % 2 AS int)))) FROM {series(10_000_000, 't')}",
    ),
    "levenshtein": (
        "levenshtein of 100 KB and 30 KB",
        "SELECT max(levenshtein(repeat('a', 100000), repeat(cast(v AS varchar), 30000))) "
        f"FROM {series(8_192, 't')}",
    ),
    "levenshtein-small": (
        "levenshtein of 1 KB and 1 KB",
        "SELECT max(levenshtein(repeat('a', 1000), repeat(cast(v % 10 AS varchar), 1000))) "
        f"FROM {series(10_000_000, 't')}",
    ),
    "join": (
        "hash join, 20,000,000 x 20,000,000",
        f"SELECT count(*) FROM {series(20_000_000, 'a')} JOIN {series(20_000_000, 'b')} ON a.v = b.v",
    ),
    "group": (
        "groups of 100,000,000 rows",
        f"SELECT count(*) FROM (SELECT v % 1000000, count(*) FROM {series(100_000_000, 't')} GROUP BY 1)",
    ),
    "sort": (
        "sort of 50,000,000 rows",
        f"SELECT v FROM {series(50_000_000, 't')} ORDER BY v % 1000, v DESC LIMIT 1 OFFSET 1000000",
    ),
    "sessions": (
        "300 sessions, about a second each",
        f"SELECT sum(v % 7) FROM {series(20_000_000, 't')}",
    ),
}

ENDLESS = f"SELECT count(*) FROM {series(1_000_000, 'a')} JOIN {series(1_000_000, 'b')} ON a.v + b.v < 0"

CHILDREN = []


class Postgres:
    """As much of the PostgreSQL protocol as a statement and a cancel need."""

    def __init__(self, port, timeout=120):
        self.port = port
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        body = struct.pack("!I", 196608) + b"user\0harness\0database\0filbert\0\0"
        self.socket.sendall(struct.pack("!I", len(body) + 4) + body)
        self.file = self.socket.makefile("rb")
        self.key = b""
        self.until_ready()

    def message(self):
        head = self.file.read(5)
        if len(head) < 5:
            raise ConnectionError("closed")
        (length,) = struct.unpack("!I", head[1:])
        return head[:1], self.file.read(length - 4)

    def until_ready(self):
        outcome = "ok"
        while True:
            kind, body = self.message()
            if kind == b"E":
                fields = dict((part[:1], part[1:].decode(errors="replace")) for part in body.split(b"\0") if part)
                outcome = f"{fields.get(b'C')} {fields.get(b'M', '')}"
            elif kind == b"K":
                self.key = body
            elif kind == b"Z":
                return outcome

    def send(self, text):
        body = text.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!I", len(body) + 4) + body)

    def ask(self, text):
        self.send(text)
        return self.until_ready()

    def cancel(self):
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as other:
            other.sendall(struct.pack("!II", 12 + len(self.key) - 4, 80877102) + self.key)
            while other.recv(64):
                pass

    def close(self):
        self.file.close()
        self.socket.close()


class Member:
    """`filbert start` with all its doors."""

    def __init__(self, binary, config=""):
        self.folder = tempfile.TemporaryDirectory(prefix="filbert-load-")
        path = Path(self.folder.name, "filbert.toml")
        path.write_text(config)
        words = [binary, "start", "--port", "0", "--postgres-port", "0", "--http-port", "0", "--log", "error"]
        words += ["--config", str(path)]
        self.child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        CHILDREN.append(self.child)
        self.ports, self.said = {}, []
        for line in self.child.stdout:
            self.said.append(line.rstrip())
            for door in ("Hazelcast", "PostgreSQL", "HTTP"):
                if door in line and " on 127.0.0.1:" in line:
                    self.ports[door] = int(line.rsplit(":", 1)[1])
            if "ends the member" in line:
                break
        if len(self.ports) < 3:
            sys.exit("run.py: the member did not start:\n" + "\n".join(self.said))
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.child.stdout:
            self.said.append(line.rstrip())

    def cpu(self):
        """What each of its threads has run so far, in seconds; and what all have, those that ended too, in ticks of the system."""
        threads = {}
        for task in Path(f"/proc/{self.child.pid}/task").iterdir():
            try:
                threads[task.name] = int((task / "schedstat").read_text().split()[0]) / 1e9
            except OSError:
                # It has ended.
                pass
        fields = Path(f"/proc/{self.child.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return threads, (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        if self.child.poll() is None:
            self.child.terminate()
            try:
                self.child.wait(60)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        self.folder.cleanup()


def load(port, statement, times, begun, over, told):
    """Asks the statement on so many connections, again and again, until it is told that it is over; then cancels all of them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connections, ends, outcomes = [Postgres(port) for _ in range(times)], [], {}

    def one(connection):
        try:
            while not over.is_set():
                said = connection.ask(statement)
                if not over.is_set():
                    outcomes[said[:70]] = outcomes.get(said[:70], 0) + 1
                    if said != "ok":
                        time.sleep(0.05)
        except OSError as error:
            outcomes[f"connection lost ({error})"] = 1
        ends.append(time.perf_counter())

    threads = [threading.Thread(target=one, args=(connection,), daemon=True) for connection in connections]
    for thread in threads:
        thread.start()
    begun.set()
    over.wait()
    begin = time.perf_counter()
    for connection in connections:
        try:
            connection.cancel()
        except OSError as error:
            outcomes[f"cancel failed ({error})"] = 1
    for thread in threads:
        thread.join(120)
    lasted = max(ends, default=begin) - begin if len(ends) == times else float("nan")
    told.put((lasted * 1e3, outcomes))
    told.close()
    told.join_thread()
    os._exit(0)


def bystander(port, seconds, told):
    """Times `SELECT 1`, then cancels."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        connection = Postgres(port)
        connection.ask("SELECT 1")
        asked, cancelled, failures = [], [], []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            begin = time.perf_counter()
            said = connection.ask("SELECT 1")
            asked.append((time.perf_counter() - begin) * 1e3)
            if said != "ok":
                failures.append(said[:70])
            time.sleep(0.004)
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            connection.send(ENDLESS)
            time.sleep(0.03)
            begin = time.perf_counter()
            connection.cancel()
            said = connection.until_ready()
            cancelled.append((time.perf_counter() - begin) * 1e3)
            if not said.startswith("57014"):
                failures.append(said[:70])
        told.put((asked, cancelled, failures[:3]))
    except Exception as error:
        told.put(([], [], [repr(error)]))
    told.close()
    told.join_thread()
    os._exit(0)


def figures(times):
    times = sorted(times)
    if not times:
        return {"n": 0, "p50": None, "p99": None, "max": None}
    at = lambda share: round(times[min(len(times) - 1, int(len(times) * share))], 2)
    return {"n": len(times), "p50": at(0.5), "p99": at(0.99), "max": at(1.0)}


def measure(member, name, options):
    """The figures of a bystander beside that load, or beside none."""
    port = member.ports["PostgreSQL"]
    context = multiprocessing.get_context("spawn")
    told, loaded, begun, over = context.Queue(), context.Queue(), context.Event(), context.Event()
    worker = None
    if name is not None:
        times = 300 if name == "sessions" else options.times
        worker = context.Process(target=load, args=(port, LOADS[name][1], times, begun, over, loaded), daemon=True)
        worker.start()
        CHILDREN.append(worker)
        begun.wait(60)
        time.sleep(options.warm_seconds)
    watcher = context.Process(target=bystander, args=(port, options.seconds, told), daemon=True)
    watcher.start()
    CHILDREN.append(watcher)
    try:
        asked, cancelled, failures = told.get(timeout=2 * options.seconds + 120)
    except Exception:
        asked, cancelled, failures = [], [], ["no figures: it waited longer than two minutes"]
        watcher.kill()
    ended, outcomes = None, {}
    if worker is not None:
        over.set()
        try:
            ended, outcomes = loaded.get(timeout=180)
        except Exception:
            failures = failures + ["the statements of the load did not end within three minutes"]
        worker.join(10)
        if worker.is_alive():
            worker.kill()
    watcher.join(10)
    return {
        "load": name or "none",
        "select": figures(asked),
        "cancel": figures(cancelled),
        "ended_ms": None if ended is None else round(ended, 1),
        "outcomes": outcomes,
        "failures": failures,
        "load_average": round(os.getloadavg()[0], 1),
    }


def number(value):
    if value is None:
        return "-"
    return f"{value:.1f}" if value < 100 else f"{value:.0f}"


def line(cells):
    widths = (17, 5, 7, 8, 8, 5, 7, 8, 8, 7)
    cells = [str(cell) for cell in cells]
    return cells[0].ljust(widths[0]) + "".join(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))


def control(options):
    """A table over all loads; the lines that missed the bar."""
    if not options.json:
        print(f"milliseconds; each load {options.times} times at once, sessions 300; {os.cpu_count()} processors")
        print(line(["", "", "", "SELECT 1", "", "", "", "cancel", "", "load"]))
        print(line(["beside", "n", "p50", "p99", "max", "n", "p50", "p99", "max", "ended"]))
    rows, failed = [], []
    for name in [None] + [name for name in LOADS if not options.only or name in options.only]:
        # One each: what a load leaves behind is not the next one's.
        member = Member(options.binary)
        row = measure(member, name, options)
        alive = member.child.poll() is None
        member.end()
        rows.append(row)
        select, cancel = row["select"], row["cancel"]
        if not alive:
            row["failures"] = row["failures"] + ["the member is gone"]
        late = [what for what in ("select", "cancel") if (row[what]["p99"] or 0) > options.bar_ms]
        if late or row["failures"]:
            failed.append(f"{row['load']}: {', '.join(late + [str(one) for one in row['failures']])}")
        if not options.json:
            cells = [row["load"]] + [select["n"]] + [number(select[at]) for at in ("p50", "p99", "max")]
            cells += [cancel["n"]] + [number(cancel[at]) for at in ("p50", "p99", "max")] + [number(row["ended_ms"])]
            print(line(cells), flush=True)
            if options.verbose:
                print(f"    load average {row['load_average']}, statements of the load: {row['outcomes'] or 'none ended'}")
    return rows, failed


IDLE_CONFIG = '[map."idle-*"]\nttl_seconds = 36_000\n'
MAPS = 30


def idle(options):
    """CPU of a member with thirty maps whose entries will expire, over some time in which nobody asks anything."""
    member = Member(options.binary, IDLE_CONFIG)
    connection = Postgres(member.ports["PostgreSQL"])
    for map_number in range(MAPS):
        name = f'"idle-{map_number}"'
        made = connection.ask(
            f"CREATE MAPPING {name} TYPE IMap OPTIONS ('keyFormat'='bigint', 'valueFormat'='bigint')"
        )
        filled = connection.ask(f"INSERT INTO {name} SELECT v, v FROM {series(2_000, 't')}")
        if (made, filled) != ("ok", "ok"):
            sys.exit(f"run.py: {name} was not filled: {made}; {filled}")
    # Every door has a connection that is open.
    others = [socket.create_connection(("127.0.0.1", member.ports[door])) for door in ("PostgreSQL", "Hazelcast", "HTTP")]
    # Doors close strangers after their time for a login.
    time.sleep(options.settle_seconds)
    before, before_in_ticks = member.cpu()
    time.sleep(options.idle_seconds)
    after, after_in_ticks = member.cpu()
    by_thread = sum(seconds - before.get(thread, 0) for thread, seconds in after.items())
    # Ticks are coarse, and times by thread leave those out that have ended.
    tick = 1 / os.sysconf("SC_CLK_TCK")
    used = max(by_thread, after_in_ticks - before_in_ticks - tick)
    percent = 100 * used / options.idle_seconds
    for one in others:
        one.close()
    connection.close()
    member.end()
    row = {
        "idle_maps": MAPS,
        "seconds": options.idle_seconds,
        "cpu_ms": round(used * 1e3, 2),
        "percent_of_a_core": round(percent, 4),
        "load_average": round(os.getloadavg()[0], 1),
    }
    if not options.json:
        print(f"idle: {MAPS} maps with 2,000 entries each that live ten hours, three doors:")
        print(f"{row['cpu_ms']} ms of CPU in {options.idle_seconds} s, {percent:.3f} % of a core")
    return row, [f"idle: {percent:.3f} % of a core"] if percent > options.bar_cpu else []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    built = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target"), "release", "filbert")
    parser.add_argument("--binary", default=os.environ.get("FILBERT_BIN", str(built)))
    parser.add_argument("--only", action="append", choices=list(LOADS), help="a load; may be given more than once")
    parser.add_argument("--idle", action="store_true", help="only the idle member; without it both")
    parser.add_argument("--busy", action="store_true", help="only the loads")
    parser.add_argument("--times", type=int, default=4, help="how many times a load runs at once")
    parser.add_argument("--seconds", type=float, default=8, help="how long SELECT 1 is timed, and then cancels")
    parser.add_argument("--warm-seconds", type=float, default=2, help="how long a load runs before")
    parser.add_argument("--idle-seconds", type=float, default=30)
    parser.add_argument("--settle-seconds", type=float, default=8, help="how long an idle member is left alone before")
    parser.add_argument("--bar-ms", type=float, default=10)
    parser.add_argument("--bar-cpu", type=float, default=0.2, help="percent of a core")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="what became of the statements of each load")
    options = parser.parse_args()
    if not Path(options.binary).exists():
        sys.exit(f"run.py: there is no {options.binary}; build it, or name one with --binary or FILBERT_BIN")
    if not Path("/proc/self/schedstat").exists():
        sys.exit("run.py: this needs Linux: what an idle member takes is read from /proc")
    rows, resting, failed = [], None, []
    try:
        if not options.busy:
            resting, late = idle(options)
            failed += late
        if not options.idle:
            rows, late = control(options)
            failed += late
    except BaseException:
        traceback.print_exc()
        for child in CHILDREN:
            child.kill()
        sys.stdout.flush()
        os._exit(1)
    if options.json:
        print(json.dumps({"idle": resting, "loads": rows, "failed": failed}, indent=1))
    else:
        print()
        for failure in failed:
            print(f"MISSED  {failure}")
        if not failed:
            print("all within their bars")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
