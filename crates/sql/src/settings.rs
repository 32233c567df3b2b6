//! The numbers of the SQL engine.

use filbert_pool::settings_fields::{self, Shape};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// No bound but that of a number in a settings file.
const MOST: u64 = i64::MAX as u64;

filbert_pool::settings_struct! {
    /// What queries may use. Every bound has a default, and an error that names its setting.
    ///
    /// ```
    /// let settings = filbert_sql::SqlSettings { rows: Some(1_000), ..Default::default() };
    /// assert_eq!(settings.batch_rows, 8_192);
    /// assert!(settings.problems().is_empty());
    /// ```
    pub struct SqlSettings {
        /// Rows that operators handle at a time.
        pub batch_rows: usize = 8_192 => Shape::Number(1, 1 << 20),
        /// Bytes that one query may hold before its operators spill or it ends with an error. At most memory_bytes.
        pub query_memory_bytes: usize = 1 << 30 => Shape::Number(1 << 10, MOST),
        /// Bytes that all queries together may hold.
        pub memory_bytes: usize = 4 << 30 => Shape::Number(1 << 10, MOST),
        /// Bytes that tables in memory (CREATE TABLE) may hold, as a part of memory_bytes. Not set: half of it.
        pub table_bytes: Option<usize> = None => Shape::Number(1 << 10, MOST),
        /// Bytes of files that queries may spill, all together; 0: none.
        pub spill_bytes: u64 = 16 << 30 => Shape::Number(0, MOST),
        /// Bytes of decoded columns of Parquet files that are kept for the next query, beside memory_bytes; 0: none.
        pub cache_bytes: usize = 512 << 20 => Shape::Number(0, MOST),
        /// Queries that run at a time; more wait their turn. As many statements are described at a time.
        pub queries: usize = 64 => Shape::Number(1, 100_000),
        /// Queries that wait at most; more are refused.
        pub waiting_queries: usize = 1_024 => Shape::Number(0, 10_000_000),
        /// Queries of those that wait that may begin: each works for short_ms in all, and waits its turn if it is not done. 0: none.
        pub short_queries: usize = 16 => Shape::Number(0, 100_000),
        /// How long such a query works before it waits for its turn.
        pub short_ms: u64 = 20 => Shape::Number(1, 3_600_000),
        /// A query that has waited for its turn for longer is refused, unless it may have changed something. 0: it waits for any time.
        pub waiting_ms: u64 = 60_000 => Shape::Number(0, 86_400_000),
        /// A query that did nothing for so long, such as one whose rows are not read, lets another one run that waits.
        pub resting_after_ms: u64 = 100 => Shape::Number(1, 3_600_000),
        /// Queries that are neither read to the end nor closed; more are refused.
        pub open_queries: usize = 10_000 => Shape::Number(1, 10_000_000),
        /// The same of one session.
        pub session_open_queries: usize = 2_000 => Shape::Number(1, 10_000_000),
        /// Jobs (CREATE JOB) that run at a time; more are refused.
        pub jobs: usize = 64 => Shape::Number(0, 100_000),
        /// Pools: workers and permits of their own for sessions that say SET filbert.pool = 'name'.
        pub pools: BTreeMap<String, PoolSettings> = BTreeMap::new() => Shape::Named(PoolSettings::FIELDS),
        /// Length of a statement's text.
        pub text_bytes: usize = 1 << 20 => Shape::Number(1 << 10, 1 << 30),
        /// How deep expressions nest, and how many operators a statement chains.
        pub expression_depth: usize = 1_000 => Shape::Number(10, 10_000),
        /// Time that a query may take. Not set: any.
        pub time_limit_ms: Option<u64> = None => Shape::Number(1, MOST),
        /// Time that the planning of a statement may work before it ends with an error. 0: any.
        pub planning_ms: u64 = 30_000 => Shape::Number(0, 86_400_000),
        /// Rows that a query may give. Not set: any number.
        pub rows: Option<u64> = None => Shape::Number(1, MOST),
        /// Batches that wait at an output of an exchange before its producers pause.
        pub exchange_batches: usize = 8 => Shape::Number(1, 1 << 16),
        /// The same in bytes.
        pub exchange_bytes: usize = 16 << 20 => Shape::Number(1 << 10, MOST),
        /// Threads for reads of files, made when needed.
        pub reading_threads: usize = 4 => Shape::Number(1, 1_024),
        /// Folders with files that SQL may read, such as "/data"; none unless it stands here, and "/" is all.
        pub files: Vec<PathBuf> = Vec::new() => Shape::Texts(settings_fields::is_path),
        /// Folders in which COPY ... TO may write files; none unless it stands here.
        pub write_files: Vec<PathBuf> = Vec::new() => Shape::Texts(settings_fields::is_path),
    }
}

filbert_pool::settings_struct! {
    /// What one pool has.
    ///
    /// ```
    /// let reports = filbert_sql::PoolSettings { workers: 2, queries: 4, ..Default::default() };
    /// let settings = filbert_sql::SqlSettings { pools: [("reports".to_owned(), reports)].into(), ..Default::default() };
    /// assert!(settings.problems().is_empty());
    /// ```
    pub struct PoolSettings {
        /// Its workers, beside those of fragment.threads.
        pub workers: usize = 1 => Shape::Number(1, 1_024),
        /// Its queries that run at a time; more wait their turn.
        pub queries: usize = 64 => Shape::Number(1, 100_000),
        /// Its queries that wait at most; more are refused.
        pub waiting_queries: usize = 1_024 => Shape::Number(0, 10_000_000),
        /// Bytes that its queries together may hold, as a part of memory_bytes. Not set: all of it.
        pub memory_bytes: Option<usize> = None => Shape::Number(1 << 10, MOST),
    }
}

impl SqlSettings {
    /// Every problem there is, one sentence each: the setting, its value, what to set.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = settings_fields::check_values("", Self::FIELDS, self);
        if self.query_memory_bytes > self.memory_bytes {
            problems.push(format!(
                "query_memory_bytes = {}: must not be more than memory_bytes, which is {}",
                self.query_memory_bytes, self.memory_bytes
            ));
        }
        if let Some(bytes) = self.table_bytes.filter(|bytes| *bytes > self.memory_bytes) {
            problems.push(format!(
                "table_bytes = {bytes}: must not be more than memory_bytes, which is {}",
                self.memory_bytes
            ));
        }
        for (name, pool) in &self.pools {
            let is_word = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
            let key = settings_fields::quoted_key(name);
            if !is_word || !(1..=64).contains(&name.len()) || name == crate::pools::DEFAULT {
                problems.push(format!(
                    "pools.{key}: a pool has a name of 1 to 64 letters, digits, - or _, and not the name default"
                ));
            }
            if let Some(bytes) = pool.memory_bytes.filter(|bytes| *bytes > self.memory_bytes) {
                problems.push(format!(
                    "pools.{key}.memory_bytes = {bytes}: must not be more than memory_bytes, which is {}",
                    self.memory_bytes
                ));
            }
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_fit_and_mistakes_are_named() {
        assert_eq!(SqlSettings::default().problems(), Vec::<String>::new());
        let large = PoolSettings { memory_bytes: Some(8 << 30), ..Default::default() };
        let pools = ["default", "my pool"].map(|name| (name.to_owned(), PoolSettings::default()));
        let pools = pools.into_iter().chain([("reports".to_owned(), large)]);
        let wrong = SqlSettings {
            queries: 0,
            query_memory_bytes: 8 << 30,
            rows: Some(0),
            pools: pools.collect(),
            ..Default::default()
        };
        let said = wrong.problems();
        assert_eq!(said.len(), 6, "{said:#?}");
        assert!(
            said.iter().any(|line| line.starts_with("pools.\"my pool\": a pool has a name")),
            "{said:#?}"
        );
        assert!(said.iter().any(|line| line.starts_with("pools.reports.memory_bytes = ")), "{said:#?}");
        assert!(said.iter().any(|line| line.starts_with("queries = 0: must be a whole number")), "{said:#?}");
        assert!(said.iter().any(|line| line.contains("not be more than memory_bytes")), "{said:#?}");
    }
}
