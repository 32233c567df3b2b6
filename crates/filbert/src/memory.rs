//! How the memory of a member is shared out: one limit, and what data, queries, cubes, jobs and what is kept of files take of it where nothing
//! is set.
//!
//! ```text
//! memory of the machine, or of its control group
//! |<------------- two thirds: memory.limit_bytes ------------->|<- the rest: answers on their way, allocator, code, other programs ->|
//! | 3/5 grid | 1/5 sql | 1/10 cubes | 1/20 sql.cache | 1/20 state of jobs |
//! ```
//!
//! Each part is a limit of its own, with an error that names its setting; what one part leaves free no other takes. Rejected: one pot for
//! all, in which a query would make writes fail. Answers, requests that wait and bytes for slow peers are there for moments; their limits,
//! which are shares too, come out of the rest.

use filbert_cube::CubeMemory;
use filbert_flow::FlowMemory;
use filbert_gate::hazelcast::HazelcastSettings;
use filbert_gate::http::HttpSettings;
use filbert_gate::postgres::PostgresSettings;
use filbert_grid::{GridSettings, MachineMemory};
use filbert_pool::settings_fields::Shape;
use filbert_sql::SqlSettings;

filbert_pool::settings_struct! {
    /// The memory of a member.
    pub struct MemorySettings {
        /// Bytes that data, queries, cubes, jobs and what is kept of files may take together, as far as their own settings do not say otherwise. Not set:
        /// two thirds of the memory of the machine, of its control group or of the limit on its address space, whichever is least.
        pub limit_bytes: Option<u64> = None => Shape::Number(1 << 20, i64::MAX as u64),
        /// Bytes that queries and caches of all cubes may hold together. Not set: a tenth of limit_bytes.
        pub cube_bytes: Option<u64> = None => Shape::Number(1 << 10, i64::MAX as u64),
        /// Bytes that the state of all dataflow jobs may take together: groups, tables of joins, sorts, open windows. A job beyond it fails. Not set:
        /// a twentieth of limit_bytes, and at least 16 MiB.
        pub flow_bytes: Option<u64> = None => Shape::Number(1 << 10, i64::MAX as u64),
    }
}

/// Which limits a settings file sets itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SetLimits {
    pub(crate) sql_memory: bool,
    pub(crate) sql_query_memory: bool,
    pub(crate) sql_cache: bool,
    pub(crate) waiting: bool,
    pub(crate) answer: bool,
    pub(crate) total_answer: bool,
    /// The bytes that wait to be sent, of the doors for Hazelcast clients, PostgreSQL clients and HTTP.
    pub(crate) congested: [bool; 3],
}

/// The settings that get a share of the memory.
#[derive(Debug)]
pub(crate) struct Shares<'s> {
    pub(crate) grid: &'s mut GridSettings,
    pub(crate) sql: &'s mut SqlSettings,
    pub(crate) hazelcast: &'s mut HazelcastSettings,
    pub(crate) postgres: &'s mut PostgresSettings,
    pub(crate) http: &'s mut HttpSettings,
}

/// What a member takes that holds nothing, roughly: threads, mailboxes, doors, plans.
const MEMBER_BYTES: u64 = 64 << 20;

/// The least that the answers of a door share: one of a large value fits.
const LEAST_ANSWERS: usize = 20 << 20;

/// The least that the state of jobs gets where it is not set: one with some thousand groups runs on any member.
const LEAST_OF_JOBS: u64 = 16 << 20;

impl MemorySettings {
    /// The limit: that of the settings, or what the machine gives.
    pub(crate) fn limit(&self) -> u64 {
        self.limit_bytes.unwrap_or_else(|| MachineMemory::measure().bytes / 3 * 2)
    }

    /// The account of all cubes.
    pub(crate) fn cubes(&self) -> CubeMemory {
        let bytes = self.cube_bytes.unwrap_or_else(|| self.limit() / 10);
        CubeMemory::new(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// Returns the account of the state of all jobs.
    pub(crate) fn jobs(&self) -> FlowMemory {
        let bytes = self.flow_bytes.unwrap_or_else(|| (self.limit() / 20).max(LEAST_OF_JOBS));
        FlowMemory::new(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// Gives data and queries their shares, where they are not set.
    pub(crate) fn share_with_queries(
        &mut self,
        grid: &mut GridSettings,
        sql: &mut SqlSettings,
        set: SetLimits,
    ) {
        let limit = self.limit();
        self.limit_bytes = Some(limit);
        grid.memory_bytes.get_or_insert(limit / 5 * 3);
        let part = |parts: u64| usize::try_from(limit / parts).unwrap_or(usize::MAX);
        if !set.sql_memory {
            sql.memory_bytes = sql.memory_bytes.min(part(5));
        }
        if !set.sql_query_memory {
            // One query leaves room for another; where all may have little, one may have all of it.
            let most = if set.sql_memory { sql.memory_bytes } else { sql.memory_bytes / 2 };
            sql.query_memory_bytes = sql.query_memory_bytes.min(most);
        }
        if !set.sql_cache {
            sql.cache_bytes = sql.cache_bytes.min(part(20));
        }
        // What somebody gave the others is no mistake because cubes would have a share as well.
        let others = [grid.memory_bytes.unwrap_or(0), sql.memory_bytes as u64, sql.cache_bytes as u64];
        let left = others.iter().fold(limit, |left, bytes| left.saturating_sub(*bytes));
        let cubes = *self.cube_bytes.get_or_insert(left.min(limit / 10));
        self.flow_bytes.get_or_insert(left.saturating_sub(cubes).min(limit / 20).max(LEAST_OF_JOBS));
    }

    /// Gives every limit that is not set its share.
    pub(crate) fn share_out(&mut self, shares: Shares<'_>, set: SetLimits) {
        let Shares { grid, sql, hazelcast, postgres, http } = shares;
        self.share_with_queries(grid, sql, set);
        let part = |parts: u64| usize::try_from(self.limit() / parts).unwrap_or(usize::MAX);
        if !set.waiting {
            hazelcast.total_waiting_bytes = hazelcast.total_waiting_bytes.min(part(20));
        }
        if !set.total_answer {
            let least = if set.answer { hazelcast.answer_bytes } else { LEAST_ANSWERS };
            hazelcast.total_answer_bytes = hazelcast.total_answer_bytes.min(part(8)).max(least);
        }
        if !set.answer {
            hazelcast.answer_bytes = hazelcast.answer_bytes.min(hazelcast.total_answer_bytes);
        }
        let congested = [&mut hazelcast.connections, &mut postgres.connections, &mut http.connections];
        for (connections, is_set) in congested.into_iter().zip(set.congested) {
            if !is_set {
                connections.total_congested_bytes =
                    connections.total_congested_bytes.min(part(20)).max(1 << 20);
            }
        }
    }

    /// Bytes that the process may have allocated before writes and statements are refused and large queries end: the net below all parts. A
    /// quarter above the limit and what a member takes that does nothing, but no more than five sixths of the memory there is.
    pub fn process_bytes(&self) -> usize {
        let (limit, machine) = (self.limit(), MachineMemory::measure().bytes);
        let above = limit.saturating_add(limit / 4).saturating_add(MEMBER_BYTES);
        usize::try_from(above.min(machine / 6 * 5).max(limit)).unwrap_or(usize::MAX)
    }

    /// That the parts are more than the whole, when somebody said how much that is.
    pub(crate) fn problem(&self, grid: &GridSettings, sql: &SqlSettings) -> Option<String> {
        let limit = self.limit_bytes?;
        let parts = [
            ("grid.memory_bytes", grid.memory_bytes.unwrap_or(0)),
            ("sql.memory_bytes", sql.memory_bytes as u64),
            ("sql.cache_bytes", sql.cache_bytes as u64),
            ("memory.cube_bytes", self.cube_bytes.unwrap_or(0)),
            // So little is always there, whatever the others have.
            ("memory.flow_bytes", self.flow_bytes.filter(|bytes| *bytes > LEAST_OF_JOBS).unwrap_or(0)),
        ];
        let sum = parts.iter().fold(0_u64, |sum, (_, bytes)| sum.saturating_add(*bytes));
        let said = parts.map(|(name, bytes)| format!("{name} = {bytes}"));
        (sum > limit).then(|| {
            format!("memory.limit_bytes = {limit}: is less than its parts together: {}", said.join(", "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::MemberConfig;

    #[test]
    fn the_parts_fit_the_whole_however_small_it_is() {
        for limit in [1 << 20, 340 << 20, 16 << 30, 1 << 40] {
            let config = MemberConfig::from_toml(&format!("[memory]\nlimit_bytes = {limit}")).unwrap();
            assert_eq!(config.memory.problem(&config.grid, &config.sql), None);
            assert_eq!(config.sql.problems(), Vec::<String>::new(), "{limit}");
            assert_eq!(config.hazelcast.problems(), Vec::<String>::new(), "{limit}");
            assert_eq!(config.grid.memory_bytes, Some(limit / 5 * 3));
            assert_eq!(config.memory.cubes().limit() as u64, limit / 10);
            assert_eq!(config.memory.jobs().limit() as u64, (limit / 20).max(LEAST_OF_JOBS));
        }
    }

    #[test]
    fn what_is_set_stays() {
        let text = "[memory]\nlimit_bytes = 104857600\ncube_bytes = 9000\nflow_bytes = 20000000\n[grid]\nmemory_bytes = 7\n\
                    [sql]\nmemory_bytes = 8589934592\ncache_bytes = 9";
        let refused = MemberConfig::from_toml(text).unwrap_err();
        let problem = refused.problems().join(" ");
        assert!(
            problem.contains("memory.limit_bytes = 104857600")
                && problem.contains("sql.memory_bytes = 8589934592")
                && problem.contains("memory.cube_bytes = 9000")
                && problem.contains("memory.flow_bytes = 20000000"),
            "{problem}"
        );
        let config = MemberConfig::from_toml(&text.replace("8589934592", "10000000")).unwrap();
        assert_eq!(
            (config.grid.memory_bytes, config.sql.memory_bytes, config.sql.cache_bytes),
            (Some(7), 10_000_000, 9)
        );
        assert_eq!((config.memory.cubes().limit(), config.memory.jobs().limit()), (9_000, 20_000_000));
    }

    /// They were the same on a machine of 512 MB as on one of 512 GB.
    #[test]
    fn the_limits_of_connections_are_shares_where_they_are_not_set() {
        let small = MemberConfig::from_toml("[memory]\nlimit_bytes = 357913941").unwrap();
        let part = |parts: usize| 357_913_941 / parts;
        assert_eq!(small.hazelcast.total_answer_bytes, part(8));
        assert_eq!(small.hazelcast.answer_bytes, part(8));
        assert_eq!(small.hazelcast.total_waiting_bytes, part(20));
        for connections in
            [&small.hazelcast.connections, &small.postgres.connections, &small.http.connections]
        {
            assert_eq!(connections.total_congested_bytes, part(20));
        }
        let large = MemberConfig::from_toml("[memory]\nlimit_bytes = 68719476736").unwrap();
        assert_eq!(large.hazelcast.total_answer_bytes, HazelcastSettings::default().total_answer_bytes);
        let set = "[memory]\nlimit_bytes = 357913941\n[hazelcast]\nanswer_bytes = 200000000\n\
                   total_waiting_bytes = 5000000\nconnections = { total_congested_bytes = 90000000 }";
        let set = MemberConfig::from_toml(set).unwrap().hazelcast;
        assert_eq!((set.answer_bytes, set.total_answer_bytes), (200_000_000, 200_000_000));
        assert_eq!((set.total_waiting_bytes, set.connections.total_congested_bytes), (5_000_000, 90_000_000));
    }
}
