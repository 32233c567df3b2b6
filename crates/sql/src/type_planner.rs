//! Types of SQL that the planner does not know, or knows otherwise: JSON is text that says so, moments with a time zone are in UTC, and
//! `FLOAT(53)` has 64 bits.

use crate::bounded::check_sql_type;
use crate::column_form::ColumnForm;
use arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};
use datafusion::common::Result;
use datafusion::logical_expr::planner::TypePlanner;
use datafusion::sql::sqlparser::ast::{DataType as SqlType, ExactNumberInfo, TimezoneInfo};
use std::sync::Arc;

/// For `CAST(... AS type)` and columns of tables that are made.
#[derive(Debug)]
pub(crate) struct OwnTypes;

impl TypePlanner for OwnTypes {
    fn plan_type_field(&self, sql_type: &SqlType) -> Result<Option<FieldRef>> {
        check_sql_type(sql_type)?;
        let field = |data_type| Field::new("", data_type, true);
        Ok(match sql_type {
            SqlType::JSON | SqlType::JSONB => Some(Arc::new(ColumnForm::Json.mark(field(DataType::Utf8)))),
            SqlType::Timestamp(None, TimezoneInfo::WithTimeZone | TimezoneInfo::Tz) => {
                Some(Arc::new(field(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())))))
            }
            // More binary digits than a number of 32 bits has.
            SqlType::Float(ExactNumberInfo::Precision(25..)) => Some(Arc::new(field(DataType::Float64))),
            _ => None,
        })
    }
}
