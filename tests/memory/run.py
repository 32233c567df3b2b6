#!/usr/bin/env python3
"""A member in a control group with little memory, offered far more than that: nothing may be killed.

    tests/memory/run.py --binary target/release/filbert            all parts, a few minutes each
    tests/memory/run.py --only structures --only readers --offer-mb 1024

Parts: structures (4 GB to each kind in 512 MB), bombs (statements that ended members, in 2 GB), cube (10 million cells in 512 MB), readers
(40 PostgreSQL clients that do not read, in 512 MB). A bystander reads a small map meanwhile. Prints a table; the status is 1 when a member
was killed or aborted, or memory did not go back, and 2 when no control group can be made: Linux, root, and the memory controller of
cgroup v1 or v2 are needed. The Python client of Hazelcast is looked for where tests/clients/setup.sh puts it.
"""

import argparse
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
MB = 1 << 20
VALUE = 256 << 10
# What must not outlive this.
CHILDREN = []
WINDOW = 32


def client_library():
    """The Hazelcast client, of this interpreter or of the environment of the client tests."""
    try:
        import hazelcast
    except ImportError:
        setup = HERE.parent / "clients" / "setup.sh"
        where = subprocess.run([setup, "--where"], capture_output=True, text=True, check=True).stdout.strip()
        for packages in Path(where, "venv", "lib").glob("python*/site-packages"):
            sys.path.append(str(packages))
        try:
            import hazelcast
        except ImportError:
            sys.exit("run.py: the Python client of Hazelcast is missing; run tests/clients/setup.sh first")
    return hazelcast


class ControlGroup:
    """A control group with so much memory, gone at the end."""

    def __init__(self, megabytes):
        name = f"filbert-memory-{os.getpid()}-{megabytes}-{time.monotonic_ns()}"
        v1, v2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
        try:
            if (v1 / "memory.limit_in_bytes").exists():
                self.folder, limit = v1 / name, "memory.limit_in_bytes"
            elif "memory" in (v2 / "cgroup.controllers").read_text().split():
                (v2 / "cgroup.subtree_control").write_text("+memory")
                self.folder, limit = v2 / name, "memory.max"
            else:
                raise OSError("no memory controller")
            self.folder.mkdir()
            (self.folder / limit).write_text(str(megabytes * MB))
            swap = self.folder / ("memory.swap.max" if limit == "memory.max" else "memory.swappiness")
            if swap.exists():
                swap.write_text("0")
        except OSError as error:
            print(f"run.py: no control group can be made here ({error}); see --help", file=sys.stderr)
            sys.exit(2)

    def enter(self):
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def kills(self):
        for name in ("memory.oom_control", "memory.events"):
            file = self.folder / name
            if file.exists():
                for line in file.read_text().splitlines():
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        return 0

    def most(self):
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            file = self.folder / name
            if file.exists():
                return int(file.read_text())
        return 0

    def remove(self):
        for _ in range(100):
            try:
                self.folder.rmdir()
                return
            except OSError:
                time.sleep(0.05)


class Member:
    """`filbert start` with defaults in a control group."""

    def __init__(self, binary, megabytes):
        self.group = ControlGroup(megabytes)
        self.folder = tempfile.TemporaryDirectory(prefix="filbert-memory-")
        config = Path(self.folder.name, "filbert.toml")
        config.write_text('[map."persistent".persistence]\nfsync = "never"\n')
        words = [binary, "start", "--port", "0", "--postgres-port", "0", "--http-port", "0", "--log", "error"]
        words += ["--data-dir", str(Path(self.folder.name, "data")), "--config", str(config)]
        self.child = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=self.group.enter
        )
        CHILDREN.append(self.child)
        self.ports, self.said = {}, []
        for line in self.child.stdout:
            self.said.append(line.rstrip())
            for whom in ("Hazelcast", "PostgreSQL", "HTTP"):
                if whom in line and " on 127.0.0.1:" in line:
                    self.ports[whom] = int(line.rsplit(":", 1)[1])
            if "ends the member" in line:
                break
        if len(self.ports) < 3:
            sys.exit("run.py: the member did not start:\n" + "\n".join(self.said))
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.child.stdout:
            self.said.append(line.rstrip())

    def alive(self):
        return self.child.poll() is None

    def rss(self):
        try:
            return int(Path(f"/proc/{self.child.pid}/statm").read_text().split()[1]) * 4096
        except (OSError, IndexError):
            return 0

    def state(self):
        if self.alive():
            return "alive"
        code = self.child.returncode
        return f"signal {-code}" if code < 0 else f"status {code}"

    def client(self):
        hazelcast = client_library()
        return hazelcast.HazelcastClient(
            cluster_members=[f"127.0.0.1:{self.ports['Hazelcast']}"],
            cluster_connect_timeout=20,
            invocation_timeout=120,
        )

    def end(self):
        if self.alive():
            self.child.terminate()
            try:
                self.child.wait(60)
            except subprocess.TimeoutExpired:
                self.child.kill()
                self.child.wait()
        self.group.remove()
        self.folder.cleanup()


class Postgres:
    """As much of the PostgreSQL protocol as a statement needs, with a reader that may not read."""

    def __init__(self, port, timeout=90):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=timeout)
        body = struct.pack("!I", 196608) + b"user\0harness\0database\0filbert\0\0"
        self.socket.sendall(struct.pack("!I", len(body) + 4) + body)
        self.file = self.socket.makefile("rb")
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
                outcome = f"{fields.get(b'C')} {fields.get(b'M', '')[:90]}"
            elif kind == b"Z":
                return outcome

    def send(self, text):
        body = text.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!I", len(body) + 4) + body)

    def ask(self, text):
        try:
            self.send(text)
            return self.until_ready()
        except TimeoutError:
            return "no answer in time"
        except OSError as error:
            return f"connection lost ({error})"

    def close(self):
        self.file.close()
        self.socket.close()


def bystander(port, told, over):
    """Gets of a small map, in a process of its own so that the load does not slow it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    hazelcast = client_library()
    client = hazelcast.HazelcastClient(cluster_members=[f"127.0.0.1:{port}"], cluster_connect_timeout=20)
    small = client.get_map("bystander").blocking()
    for number in range(100):
        small.set(number, number)
    told.put("ready")
    times, failures = [], 0
    while not over.is_set():
        begin = time.perf_counter()
        try:
            small.get(len(times) % 100)
            times.append((time.perf_counter() - begin) * 1e3)
        except Exception:
            failures += 1
            if failures > 100:
                break
        time.sleep(0.002)
    times.sort()
    at = lambda share: times[min(len(times) - 1, int(len(times) * share))] if times else float("nan")
    told.put((len(times), at(0.5), at(0.99), at(1.0), failures))
    told.close()
    told.join_thread()
    # The threads of the client must not keep the process.
    os._exit(0)


class Beside:
    """A bystander for the length of a `with`."""

    def __init__(self, member):
        context = multiprocessing.get_context("spawn")
        self.told, self.over = context.Queue(), context.Event()
        arguments = (member.ports["Hazelcast"], self.told, self.over)
        self.process = context.Process(target=bystander, args=arguments, daemon=True)
        self.figures = None

    def __enter__(self):
        self.process.start()
        CHILDREN.append(self.process)
        self.told.get(timeout=60)
        return self

    def __exit__(self, *_):
        self.over.set()
        try:
            self.figures = self.told.get(timeout=60)
        except Exception:
            self.figures = None
        self.process.join(10)
        if self.process.is_alive():
            self.process.kill()

    def line(self):
        if self.figures is None:
            return "bystander: no figures"
        count, p50, p99, most, failures = self.figures
        return f"get p50 {p50:.1f} ms, p99 {p99:.1f} ms, max {most:.0f} ms ({count} gets, {failures} failed)"


class Watch:
    """The most that a member held during a `with`."""

    def __init__(self, member):
        self.member, self.most, self.over = member, 0, threading.Event()
        self.thread = threading.Thread(target=self._look, daemon=True)

    def _look(self):
        while not self.over.wait(0.02):
            self.most = max(self.most, self.member.rss())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def back(member, before, seconds=60):
    """What the member holds when it has had time to give memory back."""
    begin = time.monotonic()
    client = member.client()
    small = client.get_map("bystander").blocking()
    while time.monotonic() - begin < seconds and member.rss() > before * 1.2 and member.alive():
        small.set(1, 1)
        time.sleep(0.2)
    client.shutdown()
    return member.rss()


FAILED = []


def row(part, what, outcome, member=None, most=None, before=None, after=None):
    state = member.state() if member else ""
    kills = member.group.kills() if member else 0
    if member and (not member.alive() or kills):
        FAILED.append(f"{part} {what}: {state}, {kills} kills")
    mb = lambda bytes: "" if bytes is None else f"{bytes / MB:.0f}"
    line = (part, what, outcome, mb(before), mb(most), mb(after), state)
    print("{:<11} {:<44} {:<66} {:>6} {:>6} {:>6} {}".format(*(str(cell) for cell in line)), flush=True)


def offer(put, megabytes, seconds):
    """Offers values until they are as many bytes as said, some at a time; counts what became of them."""
    taken, refused, other = 0, {}, {}
    body = os.urandom(VALUE - 16)
    waiting = []
    begin, number = time.monotonic(), 0

    def settle(future):
        nonlocal taken
        try:
            future.result()
            taken += 1
        except Exception as error:
            text = f"{type(error).__name__}"
            into = refused if "memory_bytes" in str(error) or "limit_bytes" in str(error) else other
            into[text] = into.get(text, 0) + 1

    for number in range(megabytes * MB // VALUE):
        if time.monotonic() - begin > seconds:
            break
        waiting.append(put(number, bytearray(number.to_bytes(16, "big") + body)))
        if len(waiting) >= WINDOW:
            settle(waiting.pop(0))
    for future in waiting:
        settle(future)
    offered = (number + 1) * VALUE // MB
    said = f"{offered} MB offered, {taken} taken, {sum(refused.values())} refused"
    return said + (f", others {other}" if other else "")


def deaf_listener(port, told):
    """A client that listens to a topic and is then stopped by its parent."""
    hazelcast = client_library()
    client = hazelcast.HazelcastClient(cluster_members=[f"127.0.0.1:{port}"])
    client.get_topic("topic").blocking().add_listener(lambda _: None)
    client.get_map("map").blocking().add_entry_listener(include_value=True, added_func=lambda _: None)
    told.put("listens")
    while True:
        time.sleep(1)


def structures(options):
    member = Member(options.binary, options.mb)
    client = member.client()
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    deaf = context.Process(target=deaf_listener, args=(member.ports["Hazelcast"], told), daemon=True)
    deaf.start()
    CHILDREN.append(deaf)
    told.get(timeout=60)
    os.kill(deaf.pid, signal.SIGSTOP)
    named = {
        "map": (client.get_map("map"), lambda one, n, v: one.set(n, v)),
        "persistent map": (client.get_map("persistent"), lambda one, n, v: one.set(n, v)),
        "list": (client.get_list("list"), lambda one, n, v: one.add(v)),
        "queue": (client.get_queue("queue"), lambda one, n, v: one.offer(v)),
        "set": (client.get_set("set"), lambda one, n, v: one.add(v)),
        "multimap": (client.get_multi_map("multimap"), lambda one, n, v: one.put(n % 100, v)),
        "ringbuffer": (client.get_ringbuffer("ringbuffer"), lambda one, n, v: one.add(v)),
        "topic": (client.get_topic("topic"), lambda one, n, v: one.publish(v)),
        "replicated map": (client.get_replicated_map("replicated"), lambda one, n, v: one.put(n, v)),
    }
    # What a member makes once and keeps, it has before.
    for one, put in named.values():
        for number in range(20):
            put(one, number, bytearray(100)).result()
    before = member.rss()
    with Beside(member) as beside:
        for name, (one, put) in named.items():
            if not member.alive():
                break
            with Watch(member) as watch:
                said = offer(lambda number, value: put(one, number, value), options.offer_mb, options.seconds)
            if member.alive():
                gone = one.clear() if hasattr(one, "clear") else one.destroy()
                if hasattr(gone, "result"):
                    gone.result()
            row("structures", name, said, member, watch.most, before, member.rss())
    deaf.kill()
    client.shutdown()
    finish("structures", member, before, beside)


def finish(part, member, before, beside=None):
    after = back(member, before) if member.alive() else None
    said = "memory back" if after is not None and after <= before * 1.2 else "memory is NOT back within 20 %"
    if beside is not None:
        said = f"{said}; {beside.line()}"
        if beside.figures is None or beside.figures[2] > 20:
            said += " (over 20 ms)"
    if after is not None and after > before * 1.2:
        FAILED.append(f"{part}: {before / MB:.0f} MB before, {after / MB:.0f} MB after")
    row(part, "at the end", said, member, member.group.most(), before, after)
    member.end()


CUBE_COLUMNS = ", ".join(f"v % {n + 2} AS c{n}" for n in range(14))
MANY_COLUMNS = ", ".join(f"v % {n + 2} AS c{n}" for n in range(30))
BOMBS = [
    "SELECT array_length(range(1,1000000000))",
    "SELECT length(repeat('x',1000000000))",
    "SELECT length(repeat('x',2000000000))",
    "SELECT length(rpad('a',2147483647,'x'))",
    "SELECT length(lpad('a',2147483647,'x'))",
    "SELECT array_length(array_repeat(1,1000000000))",
    "SELECT sum(array_length(range(1,1000000+v%2))) FROM generate_series(1,10000) t(v)",
    "SELECT count(*) FROM (SELECT unnest(range(1,100000+v%2)) FROM generate_series(1,100000) t(v))",
    "SELECT count(*) FROM (SELECT unnest(range(1,100000000)))",
    "SELECT sum(length(repeat('x',1000000+cast(v as int)%2))) FROM generate_series(1,100000) t(v)",
    "SELECT length(replace(repeat('a',100000),'a',repeat('b',100000)))",
    "SELECT length(regexp_replace(repeat('a',100000),'a',repeat('b',100000),'g'))",
    "SELECT count(*) FROM generate_series(1,1000000) t(v) "
    "WHERE regexp_like('aaaa',concat('(a{1,200}){1,200}',cast(v as varchar)))",
    f"SELECT count(*) FROM (SELECT count(*) FROM (SELECT {CUBE_COLUMNS} FROM generate_series(1,1000) t(v)) "
    f"GROUP BY CUBE ({', '.join(f'c{n}' for n in range(14))}))",
    f"SELECT count(*) FROM (SELECT count(*) FROM (SELECT {MANY_COLUMNS} FROM generate_series(1,1000) t(v)) "
    f"GROUP BY CUBE ({', '.join(f'c{n}' for n in range(30))}))",
    "SELECT array_agg(a.v) FROM generate_series(1,100000000) a(v)",
    "SELECT string_agg(repeat('x',1000), ',') FROM generate_series(1,10000000) a(v)",
    "SELECT count(*) FROM (SELECT a.v FROM generate_series(1,20000000) a(v) JOIN generate_series(1,20000000) b(v) ON a.v=b.v)",
    "CREATE TABLE bomb AS SELECT repeat('x',1000) AS x FROM generate_series(1,10000000) t(v)",
]


def ask_all(port, statements, seconds):
    """Asks on one connection each, side by side."""
    outcomes = [None] * len(statements)

    def one(at):
        begin = time.monotonic()
        try:
            postgres = Postgres(port, seconds)
            said = postgres.ask(statements[at])
            postgres.close()
        except OSError as error:
            said = f"connection lost ({error})"
        outcomes[at] = f"{said} ({time.monotonic() - begin:.1f} s)"

    threads = [threading.Thread(target=one, args=(at,), daemon=True) for at in range(len(statements))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds + 30)
    return outcomes


def bombs(options):
    member = Member(options.binary, options.bomb_mb)
    port = member.ports["PostgreSQL"]
    ask_all(port, ["SELECT count(*) FROM generate_series(1,1000000) t(v) GROUP BY v % 1000 ORDER BY 1"] * 2, 60)
    before = member.rss()
    with Beside(member) as beside:
        for clients in (1, 2):
            for bomb in BOMBS:
                if not member.alive():
                    row("bombs", "a new member", "the one before is gone", member)
                    member.end()
                    member = Member(options.binary, options.bomb_mb)
                    port = member.ports["PostgreSQL"]
                with Watch(member) as watch:
                    outcomes = ask_all(port, [bomb] * clients, options.statement_seconds)
                row("bombs", f"{clients} x {bomb}"[:44], outcomes[0][:66], member, watch.most, before, member.rss())
        # Each view doubles the one before.
        said = ask_all(port, ["CREATE VIEW v0(i) AS SELECT 1"], 60)[0]
        for number in range(1, 25):
            text = f"CREATE VIEW v{number}(i) AS SELECT x.i FROM v{number - 1} x, v{number - 1} y"
            said = ask_all(port, [text], options.statement_seconds)[0]
            if not said.startswith("ok"):
                break
        row("bombs", f"views that double, up to {number}", said[:66], member, None, before, member.rss())
    finish("bombs", member, before, beside)


def cube(options):
    group = ControlGroup(options.mb)
    with tempfile.TemporaryDirectory(prefix="filbert-memory-") as folder:
        forest = Path(folder, "forest.toml")
        forest.write_text('[[measure]]\nname = "total"\nkind = "aggregator"\ncolumn = "x"\n')
        out = Path(folder, "answer.parquet")
        words = [options.binary, "cube", "--forest", str(forest), "--measures", "total", "--by", "k", "-o", str(out)]
        words += ["--table", "SELECT v AS k, v * 1.5 AS x FROM generate_series(1, 10000000) t(v)"]
        for how, more in (("", []), (", spilling", ["--spill-directory", folder])):
            begin = time.monotonic()
            child = subprocess.run(words + more, capture_output=True, text=True, preexec_fn=group.enter, timeout=600)
            said = (child.stderr.strip().splitlines() or ["answered"])[-1][-66:]
            if child.returncode < 0 or group.kills():
                FAILED.append(f"cube: signal {-child.returncode}, {group.kills()} kills")
            what = f"10 million cells{how}, {time.monotonic() - begin:.0f} s, status {child.returncode}"
            row("cube", what, said, None, group.most())
    group.remove()


def readers(options):
    member = Member(options.binary, options.mb)
    port = member.ports["PostgreSQL"]
    ask_all(port, ["SELECT count(*) FROM generate_series(1,1000000) t(v)"] * 2, 60)
    before = member.rss()
    with Beside(member) as beside, Watch(member) as watch:
        deaf = []
        refused = 0
        for _ in range(40):
            try:
                one = Postgres(port)
                one.send("SELECT repeat('x',10000) FROM generate_series(1,1000000)")
                deaf.append(one)
            except OSError:
                refused += 1
        time.sleep(options.deaf_seconds)
        row("readers", f"{len(deaf)} do not read, {refused} refused", f"for {options.deaf_seconds} s", member, watch.most, before, member.rss())
        for one in deaf:
            one.close()
    finish("readers", member, before, beside)


PARTS = {"structures": structures, "bombs": bombs, "cube": cube, "readers": readers}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    built = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target"), "release", "filbert")
    parser.add_argument("--binary", default=os.environ.get("FILBERT_BIN", str(built)))
    parser.add_argument("--only", action="append", choices=list(PARTS))
    parser.add_argument("--mb", type=int, default=512, help="memory of the control group")
    parser.add_argument("--bomb-mb", type=int, default=2048, help="the same for the bombs")
    parser.add_argument("--offer-mb", type=int, default=4096, help="what each structure is offered")
    parser.add_argument("--seconds", type=int, default=120, help="the most that offering to one structure may take")
    parser.add_argument("--statement-seconds", type=int, default=60, help="the most that is waited for one statement")
    parser.add_argument("--deaf-seconds", type=int, default=15, help="how long readers do not read")
    options = parser.parse_args()
    if not Path(options.binary).exists():
        sys.exit(f"run.py: there is no {options.binary}; build it, or name one with --binary or FILBERT_BIN")
    print("{:<11} {:<44} {:<66} {:>6} {:>6} {:>6} {}".format("part", "what", "outcome", "before", "most", "after", "member"))
    try:
        for name in options.only or PARTS:
            PARTS[name](options)
    except BaseException:
        traceback.print_exc()
        for child in CHILDREN:
            child.kill()
        sys.stdout.flush()
        os._exit(1)
    print()
    for failure in FAILED:
        print(f"FAILED  {failure}")
    if not FAILED:
        print("0 kills, 0 aborts, memory back")
    sys.stdout.flush()
    # Threads of clients whose member is gone must not keep this.
    os._exit(1 if FAILED else 0)


if __name__ == "__main__":
    main()
