//! Functions of SQL that DataFusion does not have, or answers otherwise than other databases.

mod checked;
mod concat;
mod json;
mod json_path;
mod moments;
mod pattern;
mod plain;
mod sampled;
mod sum;
mod to_char;

pub(crate) use checked::{checked, xor};
pub(crate) use concat::{JOIN_TEXTS, join_texts, joined_type};
pub(crate) use json::{GET, GET_TEXT};
pub(crate) use pattern::{LIKE_PATTERN, SIMILAR_PATTERN, like_pattern, similar_pattern};
pub(crate) use sampled::sampled;
pub(crate) use sum::checked_sum;

use datafusion::logical_expr::ScalarUDF;
use std::sync::Arc;

/// The functions that every session knows.
pub(crate) fn functions() -> Vec<Arc<ScalarUDF>> {
    let mut all = pattern::functions();
    all.extend(json::functions());
    all.extend(moments::functions());
    all.push(to_char::to_char());
    all
}
