//! Login, the view of the cluster, structures by name, schemas.

use super::answers::{Done, Flag, Registered};
use super::service;
use super::structures::{Address, ClusterVersion, DistributedObjectInfo, MemberInfo, Schema};
use crate::field::{Keyed, Text};
use crate::message::record;
use bytes::Bytes;
use uuid::Uuid;

record! {
    /// The answer to both kinds of authentication.
    Authenticated {
        /// 0 authenticated, 1 wrong credentials, 2 other serialization version, 3 not allowed in this cluster.
        status: i8,
        /// Where the member listens.
        address: Option<Address>,
        /// Which member it is.
        member_uuid: Option<Uuid>,
        /// How the member writes `Data`: 1.
        serialization_version: i8,
        /// What the member says it runs.
        server_hazelcast_version: Text,
        /// How many partitions keys are spread over.
        partition_count: i32,
        /// Which cluster it is.
        cluster_id: Uuid,
        /// Whether a client may go on with another cluster.
        failover_supported: bool,
        /// Ports of a member that has a thread per core.
        tpc_ports: Option<Vec<i32>> [since V2_7, else None],
        /// Lets the client connect to those.
        tpc_token: Option<Bytes> [since V2_7, else None],
        /// Counts the changes of the list of members.
        member_list_version: i32 [since V2_7, else -1],
        /// The members. Null only in the answer to a custom authentication.
        member_infos: Option<Vec<MemberInfo>> [since V2_7, else None],
        /// Counts the changes of the partition table.
        partition_list_version: i32 [since V2_7, else -1],
        /// The partitions of each member. Null only in the answer to a custom authentication.
        partitions: Option<Keyed> [since V2_7, else None],
        /// Whatever else the member tells.
        key_value_pairs: Vec<(Text, Text)> [since V2_8, else Vec::new()],
    }
}

record! {
    /// The members of the cluster.
    MembersView {
        /// Counts the changes.
        version: i32,
        /// All of them, the oldest first.
        member_infos: Vec<MemberInfo>,
    }
}

record! {
    /// Which member owns which partitions.
    PartitionsView {
        /// Counts the changes.
        version: i32,
        /// The partitions of each member.
        partitions: Keyed,
    }
}

record! {
    /// Members by the group that shares their fate.
    MemberGroupsView {
        /// Counts the changes.
        version: i32,
        /// The members of each group.
        member_groups: Vec<Vec<Uuid>>,
    }
}

record! {
    /// The version that the cluster keeps to.
    ClusterVersionView {
        /// Which.
        version: ClusterVersion,
    }
}

record! {
    /// A structure was made or destroyed.
    DistributedObjectEvent {
        /// The structure's name.
        name: Text,
        /// Such as `hz:impl:mapService`.
        service_name: Text,
        /// `CREATED` or `DESTROYED`.
        event_type: Text,
        /// The member on which it happened.
        source: Uuid,
    }
}

record! {
    /// A backup of a write is done.
    Backup {
        /// The correlation of the write.
        source_invocation_correlation_id: i64,
    }
}

service! {
    "Client" = 0x00;
    0x01 "authentication" Authentication {
        cluster_name: Text, username: Option<Text>, password: Option<Text>, uuid: Option<Uuid>, client_type: Text,
        serialization_version: i8, client_hazelcast_version: Text, client_name: Text, labels: Vec<Text>,
        routing_mode: i8 [since V2_8, else 0], cp_direct_to_leader_routing: bool [since V2_8, else false],
    } => Authenticated;
    0x02 "authenticationCustom" AuthenticationCustom {
        cluster_name: Text, credentials: Bytes, uuid: Option<Uuid>, client_type: Text, serialization_version: i8,
        client_hazelcast_version: Text, client_name: Text, labels: Vec<Text>, routing_mode: i8 [since V2_8, else 0],
        cp_direct_to_leader_routing: bool [since V2_8, else false],
    } => Authenticated;
    0x03 "addClusterViewListener" AddClusterViewListener {

    } => Done
        raises
            2 MembersView "MembersView",
            3 PartitionsView "PartitionsView",
            4 MemberGroupsView "MemberGroupsView",
            5 ClusterVersionView "ClusterVersion";
    0x04 "createProxy" CreateProxy { name: Text, service_name: Text } => Done;
    0x05 "destroyProxy" DestroyProxy { name: Text, service_name: Text } => Done;
    0x08 "getDistributedObjects" GetDistributedObjects {

    } => DistributedObjects { objects: Vec<DistributedObjectInfo> };
    0x09 "addDistributedObjectListener" AddDistributedObjectListener {
        local_only: bool,
    } => Registered raises 2 DistributedObjectEvent "DistributedObject";
    0x0a "removeDistributedObjectListener" RemoveDistributedObjectListener { registration_id: Uuid } => Flag;
    0x0b "ping" Ping {} => Done;
    0x0c "statistics" Statistics { timestamp_ms: i64, client_attributes: Text, metrics_blob: Bytes } => Done;
    0x0e "createProxies" CreateProxies { proxies: Vec<(Text, Text)> } => Done;
    0x0f "localBackupListener" LocalBackupListener {} => Registered raises 2 Backup "backup";
    0x13 "sendSchema" [since V2_5] SendSchema { schema: Schema } => SchemaSent { replicated_members: Vec<Uuid> };
    0x14 "fetchSchema" [since V2_5] FetchSchema { schema_id: i64 } => SchemaFetched { schema: Option<Schema> };
    0x15 "sendAllSchemas" [since V2_5] SendAllSchemas { schemas: Vec<Schema> } => Done;
}
