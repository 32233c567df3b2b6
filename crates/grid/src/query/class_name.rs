//! Java's class names for what entries hold: `InstanceOf` is asked for them by clients that know only those.

use super::extract::{Entry, type_of};
use filbert_wire::compact::CompactRecord;
use filbert_wire::type_id::{self, *};

const NUMBER: &[&str] = &["java.lang.Number", "java.lang.Comparable", "java.io.Serializable"];
const COMPARABLE: &[&str] = &["java.lang.Comparable", "java.io.Serializable"];
const TEXT: &[&str] = &["java.lang.CharSequence", "java.lang.Comparable", "java.io.Serializable"];
const LIST: &[&str] =
    &["java.util.List", "java.util.Collection", "java.lang.Iterable", "java.io.Serializable"];
const SET: &[&str] = &["java.util.Set", "java.util.Collection", "java.lang.Iterable", "java.io.Serializable"];
const MAP: &[&str] = &["java.util.Map", "java.io.Serializable"];

/// The class of a type id, and what stands above it.
fn class_of(type_id: i32) -> Option<(&'static str, &'static [&'static str])> {
    Some(match type_id {
        BOOLEAN => ("java.lang.Boolean", COMPARABLE),
        BYTE => ("java.lang.Byte", NUMBER),
        CHAR => ("java.lang.Character", COMPARABLE),
        SHORT => ("java.lang.Short", NUMBER),
        INTEGER => ("java.lang.Integer", NUMBER),
        LONG => ("java.lang.Long", NUMBER),
        FLOAT => ("java.lang.Float", NUMBER),
        DOUBLE => ("java.lang.Double", NUMBER),
        STRING => ("java.lang.String", TEXT),
        BYTE_ARRAY => ("[B", &[]),
        BOOLEAN_ARRAY => ("[Z", &[]),
        CHAR_ARRAY => ("[C", &[]),
        SHORT_ARRAY => ("[S", &[]),
        INTEGER_ARRAY => ("[I", &[]),
        LONG_ARRAY => ("[J", &[]),
        FLOAT_ARRAY => ("[F", &[]),
        DOUBLE_ARRAY => ("[D", &[]),
        STRING_ARRAY => ("[Ljava.lang.String;", &["[Ljava.lang.Object;"]),
        OBJECT_ARRAY => ("[Ljava.lang.Object;", &[]),
        type_id::UUID => ("java.util.UUID", COMPARABLE),
        DATE => ("java.util.Date", COMPARABLE),
        BIG_INTEGER => ("java.math.BigInteger", NUMBER),
        BIG_DECIMAL => ("java.math.BigDecimal", NUMBER),
        ARRAY_LIST => ("java.util.ArrayList", LIST),
        LINKED_LIST => ("java.util.LinkedList", LIST),
        HASH_SET => ("java.util.HashSet", SET),
        LINKED_HASH_SET => ("java.util.LinkedHashSet", SET),
        TREE_SET => ("java.util.TreeSet", SET),
        HASH_MAP => ("java.util.HashMap", MAP),
        LINKED_HASH_MAP => ("java.util.LinkedHashMap", MAP),
        TREE_MAP => ("java.util.TreeMap", MAP),
        LOCAL_DATE => ("java.time.LocalDate", COMPARABLE),
        LOCAL_TIME => ("java.time.LocalTime", COMPARABLE),
        LOCAL_DATE_TIME => ("java.time.LocalDateTime", COMPARABLE),
        OFFSET_DATE_TIME => ("java.time.OffsetDateTime", COMPARABLE),
        JSON => ("com.hazelcast.core.HazelcastJsonValue", &["java.io.Serializable"]),
        _ => return None,
    })
}

/// Whether the value of the entry is of that class.
pub(crate) fn is_instance(entry: &Entry<'_>, class: &str) -> bool {
    let type_id = type_of(entry.value_bytes());
    if type_id == NULL {
        return false;
    }
    if class == "java.lang.Object" {
        return true;
    }
    if type_id == COMPACT {
        let data = entry.value();
        let record = CompactRecord::of_data(&data, entry.schemas());
        return record.is_ok_and(|record| record.schema().type_name() == class)
            || class == "com.hazelcast.nio.serialization.genericrecord.GenericRecord";
    }
    class_of(type_id).is_some_and(|(name, above)| name == class || above.contains(&class))
}
