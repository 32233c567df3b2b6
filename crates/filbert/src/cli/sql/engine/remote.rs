//! Statements in a running member, by the SQL messages of Hazelcast's clients: execute, fetch page by page, close.

use super::super::super::Outcome;
use super::super::super::client::{Client, Login};
use super::super::super::progress::EVERY;
use super::page;
use super::{Came, Engine, Watch};
use filbert::arrow::array::{RecordBatch, UInt64Array};
use filbert::arrow::datatypes::{DataType, Field, Schema};
use filbert::{Description, StatementKind};
use filbert_wire::message::Request;
use filbert_wire::messages::page::Page;
use filbert_wire::messages::sql::{Close, Execute, Executed, Fetch};
use filbert_wire::messages::structures::{SqlError, SqlQueryId};
use std::error::Error;
use std::sync::Arc;
use uuid::Uuid;

/// Rows of a page.
const PAGE_ROWS: i32 = 4_096;

/// Rows or a count, whatever the statement gives.
const ANY_RESULT: i8 = 0;

/// A connection to that member.
pub(in super::super) struct Remote {
    client: Client,
}

impl Remote {
    pub(in super::super) fn connect(address: &str, login: &Login) -> Result<Self, Box<dyn Error>> {
        Ok(Self { client: Client::connect(address, login)? })
    }

    /// Waits for an answer, for as long as it takes; a statement that is given up is closed.
    fn wait<R: Request>(
        &mut self,
        request: &R,
        query_id: &SqlQueryId,
        watch: Watch<'_>,
    ) -> Result<R::Response, Box<dyn Error>> {
        self.client.send(request)?;
        loop {
            if let Err(given_up) = watch() {
                self.client.send(&Close { query_id: query_id.clone() })?;
                return Err(given_up);
            }
            if let Some(answer) = self.client.answer::<R>(EVERY)? {
                return Ok(answer);
            }
        }
    }
}

impl Engine for Remote {
    fn run(&mut self, text: &str, watch: Watch<'_>, take: &mut dyn FnMut(Came<'_>) -> Outcome) -> Outcome {
        let query_id = new_id();
        let execute = Execute {
            sql: text.into(),
            parameters: Vec::new(),
            timeout_ms: -1,
            cursor_buffer_size: PAGE_ROWS,
            schema: None,
            expected_result_type: ANY_RESULT,
            query_id: query_id.clone(),
            skip_update_statistics: false,
        };
        let Executed { row_metadata, row_page, update_count, error, .. } =
            self.wait(&execute, &query_id, watch)?;
        refused(error)?;
        let Some(columns) = row_metadata else { return changed(text, update_count, take) };
        let columns = Arc::new(page::schema(&columns));
        let kind = StatementKind::Rows;
        let description = Description { parameters: Vec::new(), columns, kind, endless: false, change: None };
        take(Came::Planned(&description))?;
        let mut next = row_page;
        while let Some(Page { last, columns }) = next {
            take(Came::Rows(&page::batch(&description.columns, &columns)?))?;
            if last {
                break;
            }
            let fetch = Fetch { query_id: query_id.clone(), cursor_buffer_size: PAGE_ROWS };
            let fetched = self.wait(&fetch, &query_id, watch)?;
            refused(fetched.error)?;
            next = fetched.row_page;
        }
        Ok(())
    }
}

/// A statement that gives no rows says how many it changed, but not what it is.
fn changed(text: &str, count: i64, take: &mut dyn FnMut(Came<'_>) -> Outcome) -> Outcome {
    let word = text.split(|letter: char| !letter.is_alphabetic()).next().unwrap_or_default();
    let kind = match &*word.to_lowercase() {
        "insert" | "sink" => StatementKind::Insert,
        "update" => StatementKind::Update,
        "delete" => StatementKind::Delete,
        "copy" => StatementKind::Copy,
        "create" | "select" if count > 0 => StatementKind::CreateTableAs,
        _ => StatementKind::Other(word.to_uppercase()),
    };
    let fields =
        if kind.is_count() { vec![Field::new("count", DataType::UInt64, false)] } else { Vec::new() };
    let columns = Arc::new(Schema::new(fields));
    take(Came::Planned(&Description {
        parameters: Vec::new(),
        columns: Arc::clone(&columns),
        kind: kind.clone(),
        endless: false,
        change: None,
    }))?;
    if kind.is_count() {
        let counts = UInt64Array::from(vec![u64::try_from(count).unwrap_or_default()]);
        take(Came::Rows(&RecordBatch::try_new(columns, vec![Arc::new(counts)])?))?;
    }
    Ok(())
}

fn refused(error: Option<SqlError>) -> Outcome {
    let Some(SqlError { message, suggestion, .. }) = error else { return Ok(()) };
    let message = message.as_deref().unwrap_or("the member does not say why").to_owned();
    Err(suggestion.map_or(message.clone(), |suggestion| format!("{message}; {suggestion}")).into())
}

fn new_id() -> SqlQueryId {
    let (member_id_high, member_id_low) = halves(Uuid::new_v4());
    let (local_id_high, local_id_low) = halves(Uuid::new_v4());
    SqlQueryId { member_id_high, member_id_low, local_id_high, local_id_low }
}

fn halves(id: Uuid) -> (i64, i64) {
    let (high, low) = id.as_u64_pair();
    (high.cast_signed(), low.cast_signed())
}
