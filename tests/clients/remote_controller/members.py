"""Starts and ends members: processes of Filbert, or of a real Hazelcast, which is the oracle of all tests here.

A member is ended by the process id that was started here and by nothing else, and every wait has a deadline. The log of
each member stays in the work folder, and the last lines of it are part of the error when a member does not start.
"""

import os
import signal
import socket
import subprocess
import threading
import time
from dataclasses import dataclass
from pathlib import Path

START_DEADLINE_S = 120
STOP_DEADLINE_S = 30
FIRST_PORT = 5701
PORTS_TO_TRY = 100


class StartFailed(RuntimeError):
    """A member did not come up; the message holds the end of its log."""


@dataclass
class Member:
    """One running member and the process behind it."""

    process: subprocess.Popen
    host: str
    port: int
    uuid: str

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    def alive(self):
        return self.process.poll() is None

    def shutdown(self):
        """Asks the member to end in order, and insists when the deadline has passed."""
        self._end(signal.SIGTERM)

    def terminate(self):
        """Ends the member as a crash would."""
        self._end(signal.SIGKILL)

    def suspend(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def _end(self, how):
        if not self.alive():
            return
        if how == signal.SIGTERM:
            self.process.send_signal(signal.SIGCONT)  # a stopped process does not see SIGTERM
        self.process.send_signal(how)
        try:
            self.process.wait(STOP_DEADLINE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(STOP_DEADLINE_S)


class Filbert:
    """Members are processes of the test member, which takes the options of `filbert`; a cluster has one."""

    name = "Filbert"
    clusters = False
    ready_line = "Hazelcast clients on"

    def __init__(self, binary, folder):
        self.binary = Path(binary).resolve()
        self.folder = Path(folder)
        if not os.access(self.binary, os.X_OK):
            raise StartFailed(f"{self.binary} is not a program; FILBERT_BIN names the binary of the test member")

    def start(self, config, cluster_name, _others=(), port=None):
        port = port or config.port or free_port()
        file = self.folder / f"member-{port}-{time.monotonic_ns()}.toml"
        file.write_text(config.to_toml(cluster_name, port))
        command = [str(self.binary), "start", "--config", str(file), "--port", str(port)]
        process, _ = launch(command, file.with_suffix(".log"), self.ready_line)
        return self._named(process, cluster_name, port)

    def _named(self, process, cluster_name, port):
        return Member(process, "127.0.0.1", port, uuid_of(process, cluster_name, port))


class Hazelcast:
    """Members are real Hazelcast processes: `java -cp <jars>`."""

    name = "Hazelcast"
    clusters = True
    ready_line = " is STARTED"

    def __init__(self, class_path, folder):
        self.class_path = class_path
        self.folder = Path(folder)
        for jar in class_path.split(os.pathsep):
            if not Path(jar).is_file():
                raise StartFailed(f"{jar} is not a file; --java takes the jars of a class path, separated by {os.pathsep!r}")

    def start(self, config, cluster_name, others=(), port=None):
        file = self.folder / f"member-{time.monotonic_ns()}.xml"
        first = port or free_port()
        joined = [member.address for member in others] or [f"127.0.0.1:{first}"]
        file.write_text(config.to_hazelcast_xml(cluster_name, joined, first))
        command = [
            "java", "-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", self.class_path,
            f"-Dhazelcast.config={file}", "com.hazelcast.core.server.HazelcastMemberStarter",
        ]  # fmt: skip
        process, ready = launch(command, file.with_suffix(".log"), self.ready_line)
        # [127.0.0.1]:5701 is STARTED
        bound = int(ready.split(" is STARTED")[0].rsplit(":", 1)[1].split()[0])
        return Member(process, "127.0.0.1", bound, uuid_of(process, cluster_name, bound))


def launch(command, log, ready_line):
    """Starts a process and waits for the line that says it is ready; gives that line back."""
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    seen = threading.Event()
    found = []

    def drain():
        with open(log, "w", encoding="utf-8") as out:
            for line in process.stdout:
                out.write(line)
                out.flush()
                if not found and ready_line in line:
                    found.append(line.strip())
                    seen.set()
        seen.set()

    threading.Thread(target=drain, name="member log", daemon=True).start()
    seen.wait(START_DEADLINE_S)
    if found:
        return process, found[0]
    why = f"ended with {process.poll()}" if process.poll() is not None else f"was not ready after {START_DEADLINE_S} s"
    if process.poll() is None:
        process.kill()
    process.wait(STOP_DEADLINE_S)
    tail = "".join(Path(log).read_text(encoding="utf-8").splitlines(keepends=True)[-15:])
    raise StartFailed(f"{' '.join(command)} {why}; its last words:\n{tail}")


def uuid_of(process, cluster_name, port):
    """The member's id, asked of the member itself as any client would learn it."""
    from hazelcast import HazelcastClient

    try:
        client = HazelcastClient(
            cluster_name=cluster_name,
            cluster_members=[f"127.0.0.1:{port}"],
            smart_routing=False,
            cluster_connect_timeout=30,
            client_name="remote-controller",
        )
    except Exception as error:
        process.kill()
        process.wait(STOP_DEADLINE_S)
        raise StartFailed(f"no client can connect to the member on port {port}: {error}") from error
    try:
        for member in client.cluster_service.get_members():
            if member.address.port == port:
                return str(member.uuid)
        # A member with a public address shows that one instead of its own.
        return str(client.cluster_service.get_members()[-1].uuid)
    finally:
        client.shutdown()


def free_port(first=FIRST_PORT):
    """The first port from there upward that nobody listens on."""
    for port in range(first, first + PORTS_TO_TRY):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise StartFailed(f"no port of the {PORTS_TO_TRY} from {first} on is free")


def backend(folder, binary=None, class_path=None):
    """The back end that the arguments name."""
    if class_path:
        return Hazelcast(class_path, folder)
    if binary:
        return Filbert(binary, folder)
    raise StartFailed("name a member to start: the binary of the test member (FILBERT_BIN) or the jars of a real Hazelcast")
