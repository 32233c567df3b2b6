// The member's test fixtures by name, see ../remote_controller/fixtures.md: the member knows them by factory and class id.

import com.hazelcast.core.IFunction;
import com.hazelcast.map.EntryProcessor;
import com.hazelcast.map.MapInterceptor;
import com.hazelcast.nio.ObjectDataInput;
import com.hazelcast.nio.ObjectDataOutput;
import com.hazelcast.nio.serialization.IdentifiedDataSerializable;
import java.io.IOException;
import java.util.Comparator;
import java.util.Map;
import java.util.concurrent.Callable;

final class Fixtures {
    private Fixtures() {
    }

    /** One piece of code in the member: its ids and its fields, which are strings, ints and longs. */
    abstract static class Fixture implements IdentifiedDataSerializable {
        private final transient int factory;
        private final transient int id;
        private final transient Object[] fields;

        Fixture(int factory, int id, Object... fields) {
            this.factory = factory;
            this.id = id;
            this.fields = fields;
        }

        @Override
        public int getFactoryId() {
            return factory;
        }

        @Override
        public int getClassId() {
            return id;
        }

        @Override
        public void writeData(ObjectDataOutput out) throws IOException {
            for (Object field : fields) {
                if (field instanceof String) {
                    out.writeString((String) field);
                } else if (field instanceof Integer) {
                    out.writeInt((Integer) field);
                } else {
                    out.writeLong((Long) field);
                }
            }
        }

        @Override
        public void readData(ObjectDataInput in) {
            throw new UnsupportedOperationException("fixtures travel to the member only");
        }
    }

    private static UnsupportedOperationException inTheMember() {
        return new UnsupportedOperationException("this runs in the member");
    }

    static final class SetValue extends Fixture implements EntryProcessor<Object, Object, String> {
        SetValue(String value) {
            super(66, 1, value);
        }

        @Override
        public String process(Map.Entry<Object, Object> entry) {
            throw inTheMember();
        }
    }

    static final class MultiplyKey extends Fixture implements EntryProcessor<Object, Object, Integer> {
        MultiplyKey(int multiplier) {
            super(666, 3, multiplier);
        }

        @Override
        public Integer process(Map.Entry<Object, Object> entry) {
            throw inTheMember();
        }
    }

    static final class NotRegistered extends Fixture implements EntryProcessor<Object, Object, Integer> {
        NotRegistered() {
            super(66, 9999);
        }

        @Override
        public Integer process(Map.Entry<Object, Object> entry) {
            throw inTheMember();
        }
    }

    static final class PrefixOnGet extends Fixture implements MapInterceptor {
        PrefixOnGet(String prefix) {
            super(666, 6, prefix);
        }

        @Override
        public Object interceptGet(Object value) {
            throw inTheMember();
        }

        @Override
        public void afterGet(Object value) {
        }

        @Override
        public Object interceptPut(Object before, Object after) {
            throw inTheMember();
        }

        @Override
        public void afterPut(Object value) {
        }

        @Override
        public Object interceptRemove(Object value) {
            throw inTheMember();
        }

        @Override
        public void afterRemove(Object value) {
        }
    }

    /** Entries by their keys, the largest first; the client puts pages in order by the same code. */
    static final class KeysDescending extends Fixture implements Comparator<Map.Entry<Integer, Integer>> {
        KeysDescending() {
            super(66, 2, 1, 0);
        }

        @Override
        public int compare(Map.Entry<Integer, Integer> left, Map.Entry<Integer, Integer> right) {
            return right.getKey().toString().compareTo(left.getKey().toString());
        }
    }

    static final class Task<T> extends Fixture implements Callable<T> {
        private Task(int id, Object... fields) {
            super(66, id, fields);
        }

        static Task<String> append(String message) {
            return new Task<>(5, message);
        }

        static Task<Boolean> sleep(long millis) {
            return new Task<>(6, millis);
        }

        static Task<Object> fail() {
            return new Task<>(7);
        }

        static Task<Object> returnNull() {
            return new Task<>(10);
        }

        @Override
        public T call() {
            throw inTheMember();
        }
    }

    static final class Job extends Fixture implements Runnable {
        Job(String message) {
            super(66, 5, message);
        }

        @Override
        public void run() {
            throw inTheMember();
        }
    }

    static final class FailingJob extends Fixture implements Runnable {
        FailingJob() {
            super(66, 7);
        }

        @Override
        public void run() {
            throw inTheMember();
        }
    }

    static final class Multiply extends Fixture implements IFunction<Long, Long> {
        Multiply(long multiplier) {
            super(66, 16, multiplier);
        }

        @Override
        public Long apply(Long number) {
            throw inTheMember();
        }
    }

    static final class AppendText extends Fixture implements IFunction<String, String> {
        AppendText(String suffix) {
            super(66, 17, suffix);
        }

        @Override
        public String apply(String text) {
            throw inTheMember();
        }
    }

    static final class HasPrefix extends Fixture implements IFunction<String, Boolean> {
        HasPrefix(String prefix) {
            super(666, 14, prefix);
        }

        @Override
        public Boolean apply(String text) {
            throw inTheMember();
        }
    }
}
