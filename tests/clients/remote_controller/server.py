"""A stand-in for Hazelcast's remote controller, so that the Python client's own integration tests run against Filbert.

Those tests ask a controller on 127.0.0.1:9701, by Thrift, to create clusters and to start and end members. The Thrift
classes are in the client's test tree and are imported from the checkout that is named here; no line of them is ours.

    python server.py --checkout <hazelcast-python-client> --filbert <binary>
    python server.py --checkout <hazelcast-python-client> --java <hazelcast.jar>[:<hazelcast-tests.jar>]

What differs from the real controller:
- a Filbert cluster has one member: a second `startMember` answers with the first one, and the log says so;
- scripts are not run, but for the one that asks for the version and those that put Java objects into a map (`scripts.py`); all others
  answer `success = false` with the reason;
- settings without a counterpart in Filbert (map-store, hot restart, ...) are logged when the cluster is created.
"""

import argparse
import logging
import struct
import sys
import tempfile
import threading
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import cluster_config  # noqa: E402
import members  # noqa: E402
import scripts  # noqa: E402

SERVED_VERSION = "5.5.0"
VERSION_SCRIPT = "GeneratedBuildProperties.VERSION"
log = logging.getLogger("remote-controller")


class Cluster:
    """A configuration and the members that run with it."""

    def __init__(self, name, config):
        self.name = name
        self.config = config
        self.members = {}


class Controller:
    """Answers the calls of the Thrift interface. Calls arrive one thread per connection, hence the lock."""

    def __init__(self, backend, thrift_types):
        self.backend = backend
        self.types = thrift_types
        self.clusters = {}
        self.lock = threading.RLock()

    # What the tests use

    def ping(self):
        return True

    def clean(self):
        """Ends everything, as after a test file that left something running."""
        with self.lock:
            for name in list(self.clusters):
                self.terminateCluster(name)
        return True

    def exit(self):
        """A test says goodbye: its clusters end, as many tests rely on; the controller stays for the next test."""
        return self.clean()

    def createCluster(self, hzVersion, xmlconfig):
        return self._create(xmlconfig, keep_name=False)

    def createClusterKeepClusterName(self, hzVersion, xmlconfig):
        return self._create(xmlconfig, keep_name=True)

    def _create(self, xml, keep_name):
        try:
            config = cluster_config.parse(xml)
        except cluster_config.BadConfig as error:
            raise self.types.ServerException(str(error)) from error
        name = (config.cluster_name or "dev") if keep_name else str(uuid.uuid4())
        if config.unsupported and not self.backend.clusters:
            log.warning("cluster %s: not supported, ignored: %s", name, ", ".join(config.unsupported))
        with self.lock:
            self.clusters.setdefault(name, Cluster(name, config))
        return self.types.Cluster(id=name)

    def startMember(self, clusterId):
        with self.lock:
            cluster = self.clusters.get(clusterId)
            if cluster is None:
                raise self.types.ServerException(f"there is no cluster {clusterId!r}")
            running = list(cluster.members.values())
            if running and not self.backend.clusters:
                log.warning("cluster %s: a second member was asked for; the first one answers for it", clusterId)
                member = running[0]
            else:
                try:
                    member = self.backend.start(cluster.config, cluster.name, running)
                except members.StartFailed as error:
                    log.error("%s", error)
                    raise self.types.ServerException(str(error)) from error
                cluster.members[member.uuid] = member
                log.info("cluster %s: member %s on %s", clusterId, member.uuid, member.address)
        return self.types.Member(uuid=member.uuid, host=member.host, port=member.port)

    def shutdownMember(self, clusterId, memberId):
        return self._end(clusterId, memberId, members.Member.shutdown)

    def terminateMember(self, clusterId, memberId):
        return self._end(clusterId, memberId, members.Member.terminate)

    def _end(self, cluster_id, member_id, how):
        with self.lock:
            cluster = self.clusters.get(getattr(cluster_id, "id", cluster_id))
            member = cluster and cluster.members.pop(member_id, None)
        if not member:
            return False
        how(member)
        return True

    def suspendMember(self, clusterId, memberId):
        return self._signal(clusterId, memberId, members.Member.suspend)

    def resumeMember(self, clusterId, memberId):
        return self._signal(clusterId, memberId, members.Member.resume)

    def _signal(self, cluster_id, member_id, how):
        with self.lock:
            cluster = self.clusters.get(cluster_id)
            member = cluster and cluster.members.get(member_id)
        if not member:
            return False
        how(member)
        return True

    def shutdownCluster(self, clusterId):
        return self._end_all(clusterId, members.Member.shutdown)

    def terminateCluster(self, clusterId):
        return self._end_all(clusterId, members.Member.terminate)

    def _end_all(self, cluster_id, how):
        with self.lock:
            cluster = self.clusters.pop(cluster_id, None)
        if cluster is None:
            return False
        for member in cluster.members.values():
            how(member)
        return True

    def executeOnController(self, clusterId, script, lang):
        if VERSION_SCRIPT in script:
            return self.types.Response(success=True, message=None, result=SERVED_VERSION.encode())
        if self._run_script(clusterId, script):
            return self.types.Response(success=True, message=None, result=None)
        reason = "this controller runs no scripts but those of scripts.py and the one that asks for the version"
        log.warning("%s; refused: %s", reason, " ".join(script.split())[:120])
        return self.types.Response(success=False, message=reason, result=None)

    def _run_script(self, cluster_id, script):
        with self.lock:
            cluster = self.clusters.get(cluster_id)
            member = next(iter(cluster.members.values()), None) if cluster else None
        if member is None:
            return False
        try:
            return scripts.run(script, cluster_id, member.address)
        except (AttributeError, KeyError, ValueError, SyntaxError, struct.error) as error:
            log.warning("a script that is not understood: %r", error)
            return False

    # What no test in scope uses

    def _unsupported(self, what):
        raise self.types.ServerException(f"{what} is not supported by this remote controller")

    def splitMemberFromCluster(self, memberId):
        self._unsupported("splitMemberFromCluster")

    def mergeMemberToCluster(self, clusterId, memberId):
        self._unsupported("mergeMemberToCluster")

    def __getattr__(self, name):
        if "loud" not in name:
            raise AttributeError(name)
        return lambda *_: self._unsupported(name)


def serve(controller, processor_of, port):
    """Serves until the process is asked to end; then no member is left behind."""
    from thrift.protocol import TBinaryProtocol
    from thrift.server import TServer
    from thrift.transport import TSocket, TTransport

    server = TServer.TThreadedServer(
        processor_of(controller),
        TSocket.TServerSocket(host="127.0.0.1", port=port),
        TTransport.TBufferedTransportFactory(),
        TBinaryProtocol.TBinaryProtocolFactory(),
        daemon=True,
    )
    print(f"remote controller: {controller.backend.name} members, listening on 127.0.0.1:{port}", flush=True)
    try:
        server.serve()
    finally:
        controller.clean()


def main():
    import os
    import signal

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkout", required=True, help="a checkout of hazelcast-python-client")
    parser.add_argument("--filbert", default=os.environ.get("FILBERT_BIN"), help="the binary of the test member (default: FILBERT_BIN)")
    parser.add_argument("--java", help="the jars of a real Hazelcast, to start that instead")
    parser.add_argument("--port", type=int, default=9701)
    parser.add_argument("--folder", help="where configurations and logs of members go (default: a new folder)")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("hazelcast").setLevel(logging.ERROR)
    sys.path.insert(0, options.checkout)
    try:
        from tests.hzrc import RemoteController, ttypes
    except ImportError as error:
        sys.exit(f"{options.checkout} does not look like a checkout of hazelcast-python-client: {error}")
    folder = Path(options.folder or tempfile.mkdtemp(prefix="remote-controller-"))
    folder.mkdir(parents=True, exist_ok=True)
    try:
        backend = members.backend(folder, options.filbert, options.java)
    except members.StartFailed as error:
        sys.exit(str(error))

    def end(_signal, _frame):
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    serve(Controller(backend, ttypes), RemoteController.Processor, options.port)


if __name__ == "__main__":
    main()
