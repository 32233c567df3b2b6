// What a client learns of the cluster, what is refused, and that nothing of all this cost it its connection.

import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.client.HazelcastClient;
import com.hazelcast.core.DistributedObjectEvent;
import com.hazelcast.core.DistributedObjectListener;
import com.hazelcast.map.IMap;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;

final class ClusterTests {
    private ClusterTests() {
    }

    static void addTo(Suite suite) {
        suite.test("cluster: members and partitions", ClusterTests::members);
        suite.test("cluster: structures are listed and destroyed", ClusterTests::structures);
        suite.test("cluster: another name is refused", ClusterTests::otherName);
        suite.testIf(!Suite.ORACLE, "cluster: what is not served is refused", ClusterTests::notServed);
        suite.test("cluster: no connection was lost, with statistics sent all the while", () -> Suite.equal(0, Suite.LOST.get()));
    }

    private static void members() {
        Suite.equal(1, Suite.client.getCluster().getMembers().size());
        Suite.equal(271, Suite.client.getPartitionService().getPartitions().size());
        UUID member = Suite.client.getCluster().getMembers().iterator().next().getUuid();
        Suite.equal(member, Suite.client.getPartitionService().getPartition("k").getOwner().getUuid());
        Suite.yes(Suite.client.getLifecycleService().isRunning());
    }

    private static void structures() throws Exception {
        String name = Suite.name();
        List<String> events = Collections.synchronizedList(new ArrayList<>());
        UUID id = Suite.client.addDistributedObjectListener(new DistributedObjectListener() {
            @Override
            public void distributedObjectCreated(DistributedObjectEvent event) {
                note("created", event);
            }

            @Override
            public void distributedObjectDestroyed(DistributedObjectEvent event) {
                note("destroyed", event);
            }

            private void note(String what, DistributedObjectEvent event) {
                if (name.equals(event.getObjectName())) {
                    events.add(what + " " + event.getServiceName());
                }
            }
        });
        IMap<String, String> map = Suite.client.getMap(name);
        map.set("k", "v");
        Suite.heard(events, "created hz:impl:mapService");
        Suite.yes(Suite.client.getDistributedObjects().stream().anyMatch(object -> name.equals(object.getName())));
        map.destroy();
        Suite.heard(events, "created hz:impl:mapService", "destroyed hz:impl:mapService");
        Suite.yes(Suite.client.removeDistributedObjectListener(id));
    }

    private static void otherName() throws Exception {
        ClientConfig config = new ClientConfig().setClusterName("not-dev");
        config.getNetworkConfig().addAddress(System.getenv("FILBERT_ADDRESS"));
        config.getConnectionStrategyConfig().getConnectionRetryConfig().setClusterConnectTimeoutMillis(300);
        config.setProperty("hazelcast.logging.type", "none");
        Suite.fails(IllegalStateException.class, () -> HazelcastClient.newHazelcastClient(config));
    }

    private static void notServed() throws Exception {
        Suite.fails(RuntimeException.class, () -> Suite.client.getCardinalityEstimator(Suite.name()).add("x"));
        Suite.fails(RuntimeException.class, () -> Suite.client.newTransactionContext().beginTransaction());
        IMap<String, Integer> map = Suite.client.getMap(Suite.name());
        map.set("k", 1);
        Suite.equal(1, map.get("k"));
        map.destroy();
    }
}
