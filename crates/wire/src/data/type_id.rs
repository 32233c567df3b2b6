//! The type ids of Hazelcast's serialization: the second word of every [`Data`](crate::Data), which says how its payload is read.
//!
//! Negative ids belong to Hazelcast; a positive one is an application's own serializer, whose payload only that application reads.

macro_rules! type_ids {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $word:literal;)*) => {
        $($(#[$doc])* pub const $name: i32 = $id;)*

        /// What a type id stands for, in words, for messages.
        pub fn describe(type_id: i32) -> &'static str {
            match type_id {
                $($id => $word,)*
                1.. => "an object of a custom serializer",
                _ => "an object of an unknown serializer",
            }
        }
    };
}

type_ids! {
    /// No value; no payload.
    NULL = 0, "null";
    /// Portable: fields with an offset table, described by a class definition.
    PORTABLE = -1, "a Portable object";
    /// IdentifiedDataSerializable: flag byte, factory id, class id, and then what the class writes.
    DATA_SERIALIZABLE = -2, "an IdentifiedDataSerializable object";
    /// A signed byte.
    BYTE = -3, "a byte";
    /// One byte, 0 or 1.
    BOOLEAN = -4, "a boolean";
    /// One UTF-16 code unit.
    CHAR = -5, "a char";
    /// 16 bits.
    SHORT = -6, "a short";
    /// 32 bits.
    INTEGER = -7, "an int";
    /// 64 bits.
    LONG = -8, "a long";
    /// 32 bits of floating point.
    FLOAT = -9, "a float";
    /// 64 bits of floating point.
    DOUBLE = -10, "a double";
    /// Length in bytes and UTF-8.
    STRING = -11, "a string";
    /// Length and bytes.
    BYTE_ARRAY = -12, "a byte array";
    /// Length and a byte per item.
    BOOLEAN_ARRAY = -13, "a boolean array";
    /// Length and UTF-16 code units.
    CHAR_ARRAY = -14, "a char array";
    /// Length and shorts.
    SHORT_ARRAY = -15, "a short array";
    /// Length and ints.
    INTEGER_ARRAY = -16, "an int array";
    /// Length and longs.
    LONG_ARRAY = -17, "a long array";
    /// Length and floats.
    FLOAT_ARRAY = -18, "a float array";
    /// Length and doubles.
    DOUBLE_ARRAY = -19, "a double array";
    /// Length and strings, each of which may be null.
    STRING_ARRAY = -20, "a string array";
    /// Two longs, the most significant first.
    UUID = -21, "a UUID";
    /// A key and a value.
    SIMPLE_ENTRY = -22, "a map entry";
    /// A key and a value that cannot be set.
    SIMPLE_IMMUTABLE_ENTRY = -23, "an immutable map entry";
    /// The name of a Java class, as a string.
    JAVA_CLASS = -24, "a Java class";
    /// Milliseconds since 1970, UTC.
    DATE = -25, "a date in milliseconds";
    /// Length and two's complement bytes.
    BIG_INTEGER = -26, "a BigInteger";
    /// A BigInteger and a scale.
    BIG_DECIMAL = -27, "a BigDecimal";
    /// An array of objects: length, and objects that each begin with their type id.
    OBJECT_ARRAY = -28, "an object array";
    /// Length, and objects that each begin with their type id.
    ARRAY_LIST = -29, "an ArrayList";
    /// As [`ARRAY_LIST`].
    LINKED_LIST = -30, "a LinkedList";
    /// As [`ARRAY_LIST`].
    COPY_ON_WRITE_ARRAY_LIST = -31, "a CopyOnWriteArrayList";
    /// Length, then keys and values by turns.
    HASH_MAP = -32, "a HashMap";
    /// A sorted map; begins with its comparator.
    CONCURRENT_SKIP_LIST_MAP = -33, "a ConcurrentSkipListMap";
    /// As [`HASH_MAP`].
    CONCURRENT_HASH_MAP = -34, "a ConcurrentHashMap";
    /// As [`HASH_MAP`].
    LINKED_HASH_MAP = -35, "a LinkedHashMap";
    /// A sorted map; begins with its comparator.
    TREE_MAP = -36, "a TreeMap";
    /// As [`ARRAY_LIST`].
    HASH_SET = -37, "a HashSet";
    /// A sorted set; begins with its comparator.
    TREE_SET = -38, "a TreeSet";
    /// As [`ARRAY_LIST`].
    LINKED_HASH_SET = -39, "a LinkedHashSet";
    /// As [`ARRAY_LIST`].
    COPY_ON_WRITE_ARRAY_SET = -40, "a CopyOnWriteArraySet";
    /// A sorted set; begins with its comparator.
    CONCURRENT_SKIP_LIST_SET = -41, "a ConcurrentSkipListSet";
    /// A Java queue.
    ARRAY_DEQUE = -42, "an ArrayDeque";
    /// A Java queue.
    LINKED_BLOCKING_QUEUE = -43, "a LinkedBlockingQueue";
    /// A Java queue.
    ARRAY_BLOCKING_QUEUE = -44, "an ArrayBlockingQueue";
    /// A Java queue.
    PRIORITY_BLOCKING_QUEUE = -45, "a PriorityBlockingQueue";
    /// A Java queue.
    DELAY_QUEUE = -46, "a DelayQueue";
    /// A Java queue.
    SYNCHRONOUS_QUEUE = -47, "a SynchronousQueue";
    /// A Java queue.
    LINKED_TRANSFER_QUEUE = -48, "a LinkedTransferQueue";
    /// A Java queue.
    PRIORITY_QUEUE = -49, "a PriorityQueue";
    /// A Java Optional.
    OPTIONAL = -50, "an Optional";
    /// Year, month, day.
    LOCAL_DATE = -51, "a date";
    /// Hour, minute, second, nanosecond.
    LOCAL_TIME = -52, "a time";
    /// Date and time.
    LOCAL_DATE_TIME = -53, "a date and time";
    /// Date, time, and offset from UTC in seconds.
    OFFSET_DATE_TIME = -54, "a date and time with offset";
    /// Compact: a schema id and fields.
    COMPACT = -55, "a Compact object";
    /// Compact that carries its schema; members use it among themselves.
    COMPACT_WITH_SCHEMA = -56, "a Compact object with its schema";
    /// Java serialization.
    JAVA_SERIALIZABLE = -100, "a Java Serializable object";
    /// Java serialization.
    JAVA_EXTERNALIZABLE = -101, "a Java Externalizable object";
    /// .NET serialization.
    CSHARP = -110, "a .NET object";
    /// Python's pickle.
    PYTHON_PICKLE = -120, "a pickled Python object";
    /// JSON text, in the form of a string.
    JSON = -130, "a JSON value";
    /// Go's gob.
    GO_GOB = -140, "a Go object";
}
