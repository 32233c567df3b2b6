//! Structures inside messages.

use crate::Data;
use crate::field::Text;
use crate::message::custom;
use uuid::Uuid;

custom! {
    /// Where a member listens.
    Address {
        /// A name or a number.
        host: Text,
        /// The port.
        port: i32,
    }
}

custom! {
    /// A member of the cluster.
    MemberInfo {
        /// Where clients reach it.
        address: Address,
        /// Which it is.
        uuid: Uuid,
        /// What its settings say of it.
        attributes: Vec<(Text, Text)>,
        /// Holds no partitions.
        lite_member: bool,
        /// What it runs.
        version: MemberVersion,
        /// Where others reach it.
        address_map: Vec<(EndpointQualifier, Address)> [since V2_0_1, else Vec::new()],
    }
}

custom! {
    /// What a member runs.
    MemberVersion {
        /// Of 5.6.1, the 5.
        major: i8,
        /// Of 5.6.1, the 6.
        minor: i8,
        /// Of 5.6.1, the 1.
        patch: i8,
    }
}

custom! {
    /// The version that the cluster as a whole keeps to.
    ClusterVersion {
        /// Of 5.6, the 5.
        major: i8,
        /// Of 5.6, the 6.
        minor: i8,
    }
}

custom! {
    /// Whom an address of a member is for.
    EndpointQualifier {
        /// Members, clients, and so on.
        kind: i32,
        /// Tells several of one kind apart.
        identifier: Option<Text>,
    }
}

custom! {
    /// An error, as Java would throw it.
    ErrorHolder {
        /// What clients go by: see [`ErrorCode`](super::error::ErrorCode).
        code: i32,
        /// The exception's class.
        class_name: Text,
        /// What happened.
        message: Option<Text>,
        /// Where it happened.
        stack_trace: Vec<StackTraceElement>,
    }
}

custom! {
    /// One line of a stack trace.
    StackTraceElement {
        /// The class.
        class_name: Text,
        /// The method.
        method_name: Text,
        /// The file.
        file_name: Option<Text>,
        /// The line.
        line_number: i32,
    }
}

custom! {
    /// A named structure of a service.
    DistributedObjectInfo {
        /// Such as `hz:impl:mapService`.
        service_name: Text,
        /// The structure's name.
        name: Text,
    }
}

custom! {
    /// A map's entry with what the map knows of it. Times are milliseconds since 1970; the largest number means never.
    SimpleEntryView {
        /// The key.
        key: Data,
        /// The value.
        value: Data,
        /// Bytes in memory.
        cost: i64,
        /// When it came.
        creation_time_ms: i64,
        /// When it goes.
        expiration_time_ms: i64,
        /// How often it was read.
        hits: i64,
        /// When it was read last.
        last_access_time_ms: i64,
        /// When it was stored outside last.
        last_stored_time_ms: i64,
        /// When it was written last.
        last_update_time_ms: i64,
        /// How often it was written.
        version: i64,
        /// How long after it was written it goes.
        ttl_ms: i64,
        /// How long after it was read it goes.
        max_idle_ms: i64,
    }
}

custom! {
    /// An index over attributes of a map's values.
    IndexConfig {
        /// Its name; made from the attributes when null.
        name: Option<Text>,
        /// 0 sorted, 1 hash, 2 bitmap.
        kind: i32,
        /// The attributes, the most significant first.
        attributes: Vec<Text>,
        /// For a bitmap.
        bitmap_options: Option<BitmapIndexOptions>,
        /// For a sorted one on disk.
        btree: Option<BTreeIndexConfig> [since V2_5, else None],
    }
}

custom! {
    /// How a bitmap index tells entries apart.
    BitmapIndexOptions {
        /// The attribute that is unique.
        unique_key: Text,
        /// 0 as an object, 1 as a long, 2 raw.
        unique_key_transformation: i32,
    }
}

custom! {
    /// How a sorted index is kept on disk.
    BTreeIndexConfig {
        /// Of one page.
        page_size: Capacity,
        /// In front of the disk.
        memory_tier: MemoryTierConfig,
    }
}

custom! {
    /// An amount of memory.
    Capacity {
        /// How many units.
        value: i64,
        /// 0 bytes, 1 kilobytes, 2 megabytes, 3 gigabytes.
        unit: i32,
    }
}

custom! {
    /// Memory in front of a disk.
    MemoryTierConfig {
        /// How much.
        capacity: Capacity,
    }
}

custom! {
    /// Where each page of a paging predicate ended.
    AnchorDataListHolder {
        /// The pages.
        pages: Vec<i32>,
        /// The last entry of each.
        anchors: Vec<(Data, Data)>,
    }
}

custom! {
    /// A predicate whose results come page by page.
    PagingPredicateHolder {
        /// Where the pages so far ended.
        anchors: AnchorDataListHolder,
        /// What entries have to match.
        predicate: Option<Data>,
        /// How they are sorted.
        comparator: Option<Data>,
        /// Entries of a page.
        page_size: i32,
        /// The page that is wanted.
        page: i32,
        /// 0 keys, 1 values, 2 entries.
        iteration_type: i8,
        /// Only the partition of this key is asked.
        partition_key: Option<Data>,
        /// Only the partitions of these keys are asked.
        partition_keys: Option<Vec<Data>> [since V2_5, else None],
    }
}

custom! {
    /// The shape of a Compact value.
    Schema {
        /// The type's name.
        type_name: Text,
        /// Its fields.
        fields: Vec<FieldDescriptor>,
    }
}

custom! {
    /// A field of a [`Schema`].
    FieldDescriptor {
        /// Its name.
        name: Text,
        /// The number of its kind.
        kind: i32,
    }
}

custom! {
    /// Which query, over the whole cluster: a member and a number of its own, each in two halves.
    SqlQueryId {
        /// The member's UUID, high half.
        member_id_high: i64,
        /// The member's UUID, low half.
        member_id_low: i64,
        /// The number, high half.
        local_id_high: i64,
        /// The number, low half.
        local_id_low: i64,
    }
}

custom! {
    /// Why a query failed.
    SqlError {
        /// What clients go by.
        code: i32,
        /// What happened.
        message: Option<Text>,
        /// On which member.
        originating_member: Uuid,
        /// What to do.
        suggestion: Option<Text> [since V2_3, else None],
        /// Where it happened.
        cause_stack_trace: Option<Text> [since V2_7, else None],
    }
}

custom! {
    /// A column of a query's result.
    SqlColumnMetadata {
        /// Its name.
        name: Text,
        /// The number of its type: see [`ColumnType`](super::page::ColumnType).
        kind: i32,
        /// Whether it has nulls.
        nullable: bool [since V2_2, else true],
    }
}

custom! {
    /// JSON in a column.
    JsonValue {
        /// The text.
        value: Text,
    }
}

custom! {
    /// Which task of a scheduled executor.
    ScheduledTaskHandler {
        /// The member that has it.
        uuid: Option<Uuid>,
        /// Its partition; -1 for one of the member's own.
        partition_id: i32,
        /// The executor.
        scheduler_name: Text,
        /// The task.
        task_name: Text,
    }
}

custom! {
    /// A group of the CP subsystem.
    RaftGroupId {
        /// What users call it.
        name: Text,
        /// Changes when all groups begin anew.
        seed: i64,
        /// Tells groups of one name apart that were there one after the other.
        id: i64,
    }
}
