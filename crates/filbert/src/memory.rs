//! How the memory of a member is shared out: one limit, and what data, queries and what is kept of files take of it where nothing is set.
//!
//! ```text
//! memory of the machine, or of its control group
//! |<------------- two thirds: memory.limit_bytes ------------->|<- the rest: allocator, code, other programs ->|
//! |<- 3/5 grid.memory_bytes ->|<- 1/5 sql.memory_bytes ->|<- 1/20 sql.cache_bytes ->|<- connections, cubes ->|
//! ```
//!
//! Each part is a limit of its own, with an error that names its setting; what one part leaves free no other takes. Rejected: one pot for
//! all, in which a query would make writes fail.

use filbert_grid::{GridSettings, MachineMemory};
use filbert_pool::settings_fields::Shape;
use filbert_sql::SqlSettings;

filbert_pool::settings_struct! {
    /// The memory of a member.
    pub struct MemorySettings {
        /// Bytes that data, queries and what is kept of files may take together, as far as their own settings do not say otherwise. Not set: two
        /// thirds of the memory of the machine, of its control group or of the limit on its address space, whichever is least.
        pub limit_bytes: Option<u64> = None => Shape::Number(1 << 20, i64::MAX as u64),
    }
}

/// Which limits a settings file sets itself.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SetLimits {
    pub(crate) sql_memory: bool,
    pub(crate) sql_query_memory: bool,
    pub(crate) sql_cache: bool,
}

impl MemorySettings {
    /// The limit: that of the settings, or what the machine gives.
    pub(crate) fn limit(&self) -> u64 {
        self.limit_bytes.unwrap_or_else(|| MachineMemory::measure().bytes / 3 * 2)
    }

    /// Gives every limit that is not set its share.
    pub(crate) fn share_out(&mut self, grid: &mut GridSettings, sql: &mut SqlSettings, set: SetLimits) {
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
    }

    /// That the parts are more than the whole, when somebody said how much that is.
    pub(crate) fn problem(&self, grid: &GridSettings, sql: &SqlSettings) -> Option<String> {
        let limit = self.limit_bytes?;
        let parts = [
            ("grid.memory_bytes", grid.memory_bytes.unwrap_or(0)),
            ("sql.memory_bytes", sql.memory_bytes as u64),
            ("sql.cache_bytes", sql.cache_bytes as u64),
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

    #[test]
    fn the_parts_fit_the_whole_however_small_it_is() {
        for limit in [1 << 20, 340 << 20, 16 << 30, 1 << 40] {
            let (mut grid, mut sql) = (GridSettings::default(), SqlSettings::default());
            let mut memory = MemorySettings { limit_bytes: Some(limit) };
            memory.share_out(&mut grid, &mut sql, SetLimits::default());
            assert_eq!(memory.problem(&grid, &sql), None);
            assert_eq!(sql.problems(), Vec::<String>::new(), "{limit}");
            assert_eq!(grid.memory_bytes, Some(limit / 5 * 3));
        }
    }

    #[test]
    fn what_is_set_stays() {
        let mut grid = GridSettings { memory_bytes: Some(7), ..Default::default() };
        let mut sql = SqlSettings { memory_bytes: 8 << 30, cache_bytes: 9, ..Default::default() };
        let mut memory = MemorySettings { limit_bytes: Some(100 << 20) };
        let set = SetLimits { sql_memory: true, sql_query_memory: false, sql_cache: true };
        memory.share_out(&mut grid, &mut sql, set);
        assert_eq!((grid.memory_bytes, sql.memory_bytes, sql.cache_bytes), (Some(7), 8 << 30, 9));
        let problem = memory.problem(&grid, &sql).unwrap();
        assert!(
            problem.contains("memory.limit_bytes = 104857600") && problem.contains("sql.memory_bytes"),
            "{problem}"
        );
    }
}
