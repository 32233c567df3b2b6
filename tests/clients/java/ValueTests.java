// Values: Java's own types, JSON, Compact records with and without their class, and a schema that another client sent.

import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.config.CompactSerializationConfig;
import com.hazelcast.core.HazelcastInstance;
import com.hazelcast.core.HazelcastJsonValue;
import com.hazelcast.map.IMap;
import com.hazelcast.nio.serialization.compact.CompactReader;
import com.hazelcast.nio.serialization.compact.CompactSerializer;
import com.hazelcast.nio.serialization.compact.CompactWriter;
import com.hazelcast.nio.serialization.genericrecord.GenericRecord;
import com.hazelcast.nio.serialization.genericrecord.GenericRecordBuilder;
import com.hazelcast.query.Predicates;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;

final class ValueTests {
    private ValueTests() {
    }

    static void addTo(Suite suite) {
        suite.test("values: of many types", ValueTests::types);
        suite.test("values: a large one", ValueTests::large);
        suite.test("values: JSON", ValueTests::json);
        suite.test("values: keys of many types", ValueTests::keys);
        suite.test("compact: a record", ValueTests::compactRecord);
        suite.test("compact: a serializer, and a client without the class", ValueTests::compactSerializer);
    }

    /** Java's serialization: bytes that the member does not look into. */
    record Plain(int number, String text) implements Serializable {
    }

    /** Written as Compact without a word. */
    record Person(String name, int age, String city) {
    }

    static final class Cat {
        final String name;
        final long lives;

        Cat(String name, long lives) {
            this.name = name;
            this.lives = lives;
        }
    }

    private static final class CatSerializer implements CompactSerializer<Cat> {
        private final String type;

        CatSerializer(String type) {
            this.type = type;
        }

        @Override
        public Cat read(CompactReader reader) {
            return new Cat(reader.readString("name"), reader.readInt64("lives"));
        }

        @Override
        public void write(CompactWriter writer, Cat cat) {
            writer.writeString("name", cat.name);
            writer.writeInt64("lives", cat.lives);
        }

        @Override
        public String getTypeName() {
            return type;
        }

        @Override
        public Class<Cat> getCompactClass() {
            return Cat.class;
        }
    }

    private static void types() {
        IMap<String, Object> map = Suite.client.getMap(Suite.name());
        List<Object> values = List.of(true, (byte) -1, (short) 300, 70_000, 1L << 40, 1.5f, 0.1, 'ü', "Grüße, 你好, 😀", "",
            new byte[] {0, 1, -1}, UUID.randomUUID(), new BigInteger("123456789012345678901234567890"),
            new BigDecimal("-12.340"), LocalDate.of(2024, 2, 29), LocalTime.of(23, 59, 58, 7),
            LocalDateTime.of(1969, 12, 31, 23, 59), OffsetDateTime.of(2024, 2, 29, 12, 0, 0, 0, ZoneOffset.ofHours(2)),
            new Date(1_700_000_000_000L), new ArrayList<>(List.of(1, "a")), new HashMap<>(Map.of("k", 1)),
            new Plain(7, "text"));
        for (Object value : values) {
            map.set("k", value);
            Suite.equal(value, map.get("k"));
        }
        map.destroy();
    }

    private static void large() {
        IMap<String, byte[]> map = Suite.client.getMap(Suite.name());
        byte[] large = new byte[3 << 20];
        for (int i = 0; i < large.length; i++) {
            large[i] = (byte) (i * 31);
        }
        map.set("k", large);
        Suite.equal(large, map.get("k"));
        map.destroy();
    }

    private static void json() {
        IMap<String, HazelcastJsonValue> map = Suite.client.getMap(Suite.name());
        HazelcastJsonValue value = new HazelcastJsonValue("{\"a\": [1, null, \"ü\"]}");
        map.set("k", value);
        Suite.equal(value, map.get("k"));
        Suite.equal(Set.of("k"), Set.copyOf(map.keySet(Predicates.equal("a[0]", 1))));
        map.destroy();
    }

    private static void keys() {
        IMap<Object, Integer> map = Suite.client.getMap(Suite.name());
        List<Object> keys = List.of(1, 1L, "1", true, 1.0, UUID.randomUUID(), new Plain(1, "k"), new Person("Ada", 36, "London"));
        for (int i = 0; i < keys.size(); i++) {
            map.set(keys.get(i), i);
        }
        Suite.equal(keys.size(), map.size());
        for (int i = 0; i < keys.size(); i++) {
            Suite.equal(i, map.get(keys.get(i)));
        }
        map.destroy();
    }

    private static void compactRecord() {
        IMap<Integer, Person> map = Suite.client.getMap(Suite.name());
        for (int i = 0; i < 10; i++) {
            map.set(i, new Person("Person " + i, 20 + i, i % 2 == 0 ? "Oslo" : "Rome"));
        }
        Suite.equal(new Person("Person 3", 23, "Rome"), map.get(3));
        Suite.equal(Set.of(7, 9), Set.copyOf(map.keySet(Predicates.sql("city = 'Rome' AND age > 25"))));
        Suite.yes(map.replace(3, new Person("Person 3", 23, "Rome"), new Person("Person 3", 24, "Rome")));
        map.destroy();
    }

    private static void compactSerializer() {
        String type = Suite.name();
        String name = Suite.name();
        ClientConfig config = new ClientConfig();
        CompactSerializationConfig compact = config.getSerializationConfig().getCompactSerializationConfig();
        compact.addSerializer(new CatSerializer(type));
        HazelcastInstance writer = Suite.connect(config);
        IMap<Integer, Cat> cats = writer.getMap(name);
        cats.set(1, new Cat("Tom", 9));
        // This client has no such class, and asks the member for the schema.
        IMap<Integer, GenericRecord> records = Suite.client.getMap(name);
        GenericRecord found = records.get(1);
        Suite.equal("Tom", found.getString("name"));
        Suite.equal(9L, found.getInt64("lives"));
        records.set(2, GenericRecordBuilder.compact(type).setString("name", "Kit").setInt64("lives", 8).build());
        Suite.equal("Kit", cats.get(2).name);
        Suite.equal(Set.of(2), Set.copyOf(records.keySet(Predicates.lessThan("lives", 9))));
        writer.shutdown();
        records.destroy();
    }
}
