//! What all sessions of a door share.

use super::clients::Clients;
use super::counters::Counters;
use super::settings::{HazelcastSettings, public_parts};
use super::waiters::ParkedBytes;
use crate::guesses::Guesses;
use crate::users::Users;
use filbert_grid::{Allowance, Grid, ResultSpace};
use filbert_net::ConnectionInfo;
use filbert_sql::Sql;
use filbert_wire::PARTITION_COUNT;
use filbert_wire::field::Keyed;
use filbert_wire::messages::structures::{Address, MemberInfo, MemberVersion};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use uuid::Uuid;

/// The version of Hazelcast whose client protocol is spoken here: clients choose their features by it.
pub(super) const COMPATIBLE: &str = "5.5.0";

/// The same in numbers.
const COMPATIBLE_VERSION: MemberVersion = MemberVersion { major: 5, minor: 5, patch: 0 };

/// The member as its clients see it.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) grid: Grid,
    /// None: the member runs without SQL.
    pub(super) sql: Option<Sql>,
    pub(super) settings: HazelcastSettings,
    pub(super) cluster: Uuid,
    pub(super) clients: Clients,
    pub(super) counters: Counters,
    /// Who may log in.
    pub(super) users: Users,
    /// The logins that failed.
    pub(super) guesses: Guesses,
    /// The memory that large answers share.
    pub(super) results: Arc<ResultSpace>,
    /// What the requests of all connections take that wait.
    pub(super) parked: Arc<ParkedBytes>,
    /// How many structures were destroyed so far: handles from before are forgotten.
    destroyed: AtomicU64,
}

impl Host {
    pub(super) fn new(grid: Grid, sql: Option<Sql>, mut settings: HazelcastSettings) -> Self {
        let users = Users::new(std::mem::take(&mut settings.users));
        let cluster = grid.new_id();
        let results = ResultSpace::new(settings.total_answer_bytes);
        let parked = ParkedBytes::new(settings.total_waiting_bytes);
        Self {
            grid,
            sql,
            settings,
            cluster,
            clients: Clients::default(),
            counters: Counters::default(),
            users,
            guesses: Guesses::default(),
            results,
            parked,
            destroyed: AtomicU64::new(0),
        }
    }

    /// What the answer to one request may take.
    pub(super) fn allowance(&self) -> Allowance {
        self.results.allow(self.settings.answer_bytes)
    }

    /// How many structures were destroyed so far.
    #[inline]
    pub(super) fn destroyed(&self) -> u64 {
        self.destroyed.load(Ordering::Acquire)
    }

    pub(super) fn one_was_destroyed(&self) {
        self.destroyed.fetch_add(1, Ordering::Release);
    }

    /// Where the member is, for the client at the other end of that connection: the address that it reached.
    pub(super) fn address_for(&self, info: &ConnectionInfo) -> Address {
        match self.settings.public_address.as_deref().and_then(public_parts) {
            Some((host, port)) => Address { host: host.into(), port: port.into() },
            None => Address {
                host: info.local.ip().to_canonical().to_string().into(),
                port: info.local.port().into(),
            },
        }
    }

    /// The members: this one.
    pub(super) fn members(&self, info: &ConnectionInfo) -> Vec<MemberInfo> {
        vec![MemberInfo {
            address: self.address_for(info),
            uuid: self.grid.member(),
            attributes: Vec::new(),
            lite_member: false,
            version: COMPATIBLE_VERSION,
            address_map: Vec::new(),
        }]
    }

    /// Who owns which partitions: this one all.
    pub(super) fn partitions(&self) -> Keyed {
        Keyed(vec![(self.grid.member(), (0..PARTITION_COUNT as i32).collect())])
    }
}
