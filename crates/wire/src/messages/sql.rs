//! Queries.

use super::answers::Done;
use super::page::Page;
use super::service;
use super::structures::{SqlColumnMetadata, SqlError, SqlQueryId};
use crate::Data;
use crate::field::Text;

service! {
    "Sql" = 0x21;
    0x03 "close" [since V2_1] Close { query_id: SqlQueryId } => Done;
    0x04 "execute" [since V2_2] Execute {
        sql: Text, parameters: Vec<Option<Data>>, timeout_ms: i64, cursor_buffer_size: i32, schema: Option<Text>,
        expected_result_type: i8, query_id: SqlQueryId, skip_update_statistics: bool [since V2_3, else false],
    } => Executed {
        row_metadata: Option<Vec<SqlColumnMetadata>>, row_page: Option<Page>, update_count: i64,
        error: Option<SqlError>, is_infinite_rows: bool [since V2_5, else false],
        partition_argument_index: i32 [since V2_6, else -1],
    };
    0x05 "fetch" [since V2_2] Fetch {
        query_id: SqlQueryId, cursor_buffer_size: i32,
    } => Fetched { row_page: Option<Page>, error: Option<SqlError> };
}
