// Near caches: reads are answered in the client, and what others write is seen.

import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.config.InMemoryFormat;
import com.hazelcast.config.NearCacheConfig;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.map.IMap;
import java.util.Set;

final class NearCacheTests {
    private NearCacheTests() {
    }

    static void addTo(Suite suite) {
        suite.test("near cache: hits, and what others write", NearCacheTests::invalidation);
    }

    private static void invalidation() throws Exception {
        String name = Suite.name();
        ClientConfig config = new ClientConfig();
        NearCacheConfig near = new NearCacheConfig(name).setInvalidateOnChange(true);
        config.addNearCacheConfig(near.setInMemoryFormat(InMemoryFormat.OBJECT));
        HazelcastInstance cached = Suite.connect(config);
        IMap<String, String> map = cached.getMap(name);
        IMap<String, String> other = Suite.client.getMap(name);
        other.set("k", "a");
        // The invalidation by the first write may come late, and then once more empties the cache.
        Suite.eventually("a hit", () -> {
            Suite.equal("a", map.get("k"));
            return map.getLocalMapStats().getNearCacheStats().getHits() > 0;
        });
        other.set("k", "b");
        Suite.eventually("the change of a value is seen", () -> map.get("k").equals("b"));
        other.remove("k");
        Suite.eventually("a removal is seen", () -> map.get("k") == null);
        other.set("k", "c");
        Suite.eventually("a new value is seen", () -> "c".equals(map.get("k")));
        map.getAll(Set.of("k", "l"));
        other.clear();
        Suite.eventually("all are gone", () -> map.get("k") == null);
        other.set("k", "d");
        Suite.eventually("a value is seen", () -> "d".equals(map.get("k")));
        other.evictAll();
        Suite.eventually("all are evicted", () -> map.get("k") == null);
        cached.shutdown();
        other.destroy();
    }
}
