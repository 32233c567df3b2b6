//! The settings that a session may change, and those that it may not.
//!
//! `SET` reaches all settings of the engine. Some of them bound the member, some make wrong answers in this version of it, and some have no
//! effect on the tables here: they are refused by their name, with what to use in their place. Threads: planning.

use crate::error::SqlError;
use crate::plan::{ZONE_SETTING, check_zone};

/// Settings of DataFusion 55 with which joins lose rows and queries panic.
const UNSOUND: [&str; 2] =
    ["datafusion.optimizer.enable_piecewise_merge_join", "datafusion.optimizer.enable_window_topn"];

/// Settings of folders, which tables of files here do not read.
const NO_EFFECT: [&str; 2] = [
    "datafusion.execution.listing_table_ignore_subdirectory",
    "datafusion.execution.listing_table_factory_infer_partitions",
];

/// Refuses what a session may not set: bounds of the member, and numbers that would use it up. Without a value it is set to its default.
pub(crate) fn check_setting(variable: &str, value: Option<&str>) -> Result<(), SqlError> {
    // What a name means was decided when its rights were checked.
    if variable.starts_with("datafusion.catalog.") || variable.starts_with("datafusion.sql_parser.") {
        return Err(SqlError::Refused(format!("{variable} is not a session's to set")));
    }
    if variable.starts_with("datafusion.runtime.") {
        return Err(SqlError::Refused(format!(
            "{variable} is not a session's to set; the member's settings sql.query_memory_bytes, sql.memory_bytes and sql.spill_bytes \
             bound what queries use"
        )));
    }
    if UNSOUND.contains(&variable) && value.is_some_and(|value| !value.eq_ignore_ascii_case("false")) {
        let text = format!("{variable} is not a session's to set: it makes wrong answers");
        return Err(SqlError::Refused(text));
    }
    if NO_EFFECT.contains(&variable) && value.is_some() {
        return Err(SqlError::Refused(format!(
            "{variable} has no effect here: a folder is read with the folders in it, a pattern such as 'folder/*.csv' without them, and their names \
             are no columns"
        )));
    }
    if variable == ZONE_SETTING {
        return value.map_or(Ok(()), check_zone);
    }
    let most = match variable {
        "datafusion.execution.target_partitions" => 256,
        "datafusion.execution.batch_size" => 1 << 20,
        _ => return Ok(()),
    };
    let Some(value) = value else { return Ok(()) };
    match value.parse::<u64>() {
        Ok(number) if (1..=most).contains(&number) => Ok(()),
        _ => Err(SqlError::Refused(format!("{variable} is a number from 1 to {most}, not {value}"))),
    }
}
