//! SQL: statements are executed, their rows fetched page by page, and closed.
//!
//! ```text
//! Sql.execute -> begin a statement -> stage mixed: submit, await the plan, read the first page -> answer
//! Sql.fetch   -> find its cursor   -> stage mixed: read one page                              -> answer
//! Sql.close   -> cancel, answer at once
//! ```
//!
//! Nothing of a statement runs on the io loop: it is planned and run on the stages of the engine, and awaited on `mixed`, where pages are
//! put together. A connection's statements live and end with it. Rejected: to await on the io loop, which would make pages there.

mod columns;
mod cursor;
mod information;
mod moments;
mod problem;
mod statements;

pub(super) use information::Information;
pub(super) use statements::Statements;

use super::call::{Call, Desk};
use super::failure::{Failure, Handled};
use super::host::Host;
use super::rights::Rights;
use crate::tables::UserTables;
use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use cursor::Cursor;
use filbert_grid::{Allowance, Service};
use filbert_sql::{Query, ScalarValue, Session, StatementKind, numbered_parameters, scalar_of};
use filbert_wire::Data;
use filbert_wire::messages::answers::Done;
use filbert_wire::messages::page::Page;
use filbert_wire::messages::sql::{Close, Execute, Executed, Fetch, Fetched};
use futures::StreamExt;
use problem::{Code, Problem};
use statements::{Ended, Reading, Statement};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Longer than this is as good as for ever.
const LONGEST_MS: u64 = 100 * 365 * 24 * 60 * 60 * 1_000;

/// What a client expects of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Any,
    Rows,
    UpdateCount,
}

/// What a statement is answered with when it has begun.
enum Begun {
    /// Its first page; the cursor when more are to come.
    Rows(Box<Cursor>, Page),
    /// How many rows it changed.
    Count(i64),
}

/// Reads one page for a client.
struct Reader {
    host: Arc<Host>,
    rights: Arc<Rights>,
    rows: usize,
}

pub(super) fn execute(call: Call<'_, Execute>, request: Execute) -> Handled {
    let session = session_of(call.desk)?;
    let host = Arc::clone(&call.desk.host);
    let begun = Reader::new(call.desk, request.cursor_buffer_size)
        .and_then(|reader| Ok((reader, call.desk.statements.begin(&request.query_id)?)));
    let (reader, reading) = match begun {
        Ok(begun) => begun,
        Err(problem) => return call.now(refused(problem, &host)),
    };
    limit_time(&host, reading.statement(), request.timeout_ms);
    let Some(later) = call.answering().later() else { return Ok(()) };
    let task = async move {
        let allowance = reader.host.allowance();
        let answer = match reader.execute(&session, &reading, &request, &allowance).await {
            Ok(begun) => reader.begun(reading, begun),
            Err(problem) => Err(reader.explained(problem, reading.over())),
        };
        let answer = answer.unwrap_or_else(|problem| refused(problem, &reader.host));
        later.answer(&answer, allowance);
    };
    spawn(&host, "sql execute", task)
}

pub(super) fn fetch(call: Call<'_, Fetch>, request: Fetch) -> Handled {
    session_of(call.desk)?;
    let host = Arc::clone(&call.desk.host);
    let found = Reader::new(call.desk, request.cursor_buffer_size)
        .and_then(|reader| Ok((reader, call.desk.statements.resume(&request.query_id)?)));
    let (reader, (reading, mut cursor)) = match found {
        Ok(found) => found,
        Err(problem) => {
            let error = Some(problem.on(host.grid.member()));
            return call.now(Fetched { row_page: None, error });
        }
    };
    let Some(later) = call.answering().later() else { return Ok(()) };
    let task = async move {
        let allowance = reader.host.allowance();
        let page = match cursor.page(reader.rows, reader.page_bytes(), &allowance).await {
            Ok(page) if page.last => {
                reading.over();
                Ok(page)
            }
            Ok(page) => reading.keep(cursor).map(|()| page),
            Err(problem) => Err(reader.explained(problem, reading.over())),
        };
        let answer = match page {
            Ok(page) => Fetched { row_page: Some(page), error: None },
            Err(problem) => Fetched { row_page: None, error: Some(problem.on(reader.host.grid.member())) },
        };
        later.answer(&answer, allowance);
    };
    spawn(&host, "sql fetch", task)
}

pub(super) fn close(call: Call<'_, Close>, request: Close) -> Handled {
    session_of(call.desk)?;
    call.desk.statements.close(&request.query_id);
    call.now(Done {})
}

/// The connection's session, made when it is first used.
fn session_of(desk: &mut Desk) -> Result<Session, Failure> {
    let Some(sql) = &desk.host.sql else {
        return Err(Failure::unsupported("SQL: this member runs without it;"));
    };
    // Names as written: to clients of Hazelcast `firstName` needs no quotes.
    let made = || {
        // Where nobody is named, everybody may do everything.
        let user = desk.identity.user.as_deref().unwrap_or_default();
        let rights = UserTables::new(user, Arc::clone(&desk.identity.rights));
        sql.session_as(Arc::new(rights)).with_names_as_written()
    };
    Ok(desk.sql_session.get_or_insert_with(made).clone())
}

fn spawn(host: &Host, name: &'static str, task: impl Future<Output = ()> + Send + 'static) -> Handled {
    // Refused at shutdown: then the task is dropped, and with it the right to answer, which says so.
    let _ = host.grid.stages().mixed().spawn(name, task).map(filbert_pool::TaskFuture::detach);
    Ok(())
}

/// Ends a statement when its time is over; what is not above 0 is no limit.
fn limit_time(host: &Host, statement: &Arc<Statement>, timeout_ms: i64) {
    let limit = u64::try_from(timeout_ms).ok().filter(|limit| (1..=LONGEST_MS).contains(limit));
    let Some(limit_ms) = limit else { return };
    let statement: Weak<Statement> = Arc::downgrade(statement);
    host.grid.stages().clock().after(Duration::from_millis(limit_ms), move || {
        statement.upgrade().inspect(|statement| statement.end(Ended::TimedOut { limit_ms }));
    });
}

fn refused(problem: Problem, host: &Host) -> Executed {
    Executed { error: Some(problem.on(host.grid.member())), ..executed() }
}

/// An answer that says nothing yet.
fn executed() -> Executed {
    Executed {
        row_metadata: None,
        row_page: None,
        update_count: -1,
        error: None,
        is_infinite_rows: false,
        partition_argument_index: -1,
    }
}

impl Reader {
    /// For a client that wants so many rows on a page.
    fn new(desk: &Desk, cursor_buffer_size: i32) -> Result<Self, Problem> {
        let rows = usize::try_from(cursor_buffer_size).ok().filter(|rows| *rows > 0);
        let rows = rows.ok_or_else(|| {
            let text = format!("a page cannot have {cursor_buffer_size} rows; ask for at least one");
            Problem::new(Code::Generic, text)
        })?;
        Ok(Self { host: Arc::clone(&desk.host), rights: Arc::clone(&desk.identity.rights), rows })
    }

    fn page_bytes(&self) -> usize {
        self.host.settings.sql_page_bytes
    }

    /// Runs a statement up to its first page or its end.
    async fn execute(
        &self,
        session: &Session,
        reading: &Reading,
        request: &Execute,
        allowance: &Allowance,
    ) -> Result<Begun, Problem> {
        reading.begins(&self.host.grid.stages().clock()).await?;
        session.check_length(&request.sql)?;
        let text = numbered_parameters(&request.sql);
        let text = information::adapted(&text);
        let parameters = self.parameters(&request.parameters)?;
        let expected = match request.expected_result_type {
            0 => Expected::Any,
            1 => Expected::Rows,
            2 => Expected::UpdateCount,
            other => {
                let text = format!("{other} is no type of result: 0 is any, 1 rows, 2 an update count");
                return Err(Problem::new(Code::Generic, text));
            }
        };
        if expected != Expected::Any {
            // Before it runs: a statement that is refused has changed nothing.
            let describing = session.describe(&text);
            if let Some(canceller) = describing.canceller() {
                reading.runs(canceller)?;
            }
            let described = describing.await?;
            let gives_rows = described.kind == StatementKind::Rows;
            if gives_rows != (expected == Expected::Rows) {
                let (wanted, found) =
                    if gives_rows { ("an update count", "rows") } else { ("rows", "an update count") };
                let text = format!("the client expects {wanted}, and the statement gives {found}");
                return Err(Problem::new(Code::Generic, text));
            }
        }
        let mut query = session.query_with(&text, parameters)?;
        reading.runs(query.canceller())?;
        let described = query.description().await?;
        if described.kind == StatementKind::Rows {
            let mut cursor = Box::new(Cursor::new(query, &described.columns, described.endless));
            if described.endless {
                // A row may never come; with the result in hand the program can close it.
                let page = cursor.empty_page();
                return Ok(Begun::Rows(cursor, page));
            }
            let page = cursor.page(self.rows, self.page_bytes(), allowance).await?;
            return Ok(Begun::Rows(cursor, page));
        }
        changed(query, &described.kind).await.map(Begun::Count)
    }

    fn parameters(&self, parameters: &[Option<Data>]) -> Result<Vec<ScalarValue>, Problem> {
        let value = |(at, data): (usize, &Option<Data>)| {
            scalar_of(data.as_ref(), self.host.grid.catalog())
                .map_err(|problem| Problem::data(format!("parameter {}: {problem}", at + 1)))
        };
        parameters.iter().enumerate().map(value).collect()
    }

    /// The answer to a statement that has begun.
    fn begun(&self, reading: Reading, begun: Begun) -> Result<Executed, Problem> {
        let (cursor, page) = match begun {
            Begun::Count(update_count) => return Ok(Executed { update_count, ..executed() }),
            Begun::Rows(cursor, page) => (cursor, page),
        };
        let answer = Executed {
            row_metadata: Some(cursor.metadata()),
            is_infinite_rows: cursor.is_endless(),
            ..executed()
        };
        if !page.last {
            reading.keep(cursor)?;
        }
        Ok(Executed { row_page: Some(page), ..answer })
    }

    /// A problem with what only the door knows of it: why the statement was cancelled, what the map is called.
    fn explained(&self, problem: Problem, ended: Option<Ended>) -> Problem {
        if problem.is_denied() {
            self.host.counters.denied.add();
        }
        match (ended, problem.missing_table()) {
            (Some(ended), _) => ended.into(),
            (None, Some(missing)) => {
                let is_meant = |name: &str| {
                    name.eq_ignore_ascii_case(missing) && self.rights.of(Service::Map, name).any()
                };
                let maps = self.host.grid.structures().list();
                let found = maps.iter().find(|(service, name)| *service == Service::Map && is_meant(name));
                let suggestion =
                    found.map(|(_, name)| format!("SELECT * FROM \"{}\"", name.replace('"', "\"\"")));
                problem.suggesting(suggestion)
            }
            (None, None) => problem,
        }
    }
}

/// Runs a statement without rows to its end: how many rows it changed, 0 when it changes something else.
async fn changed(mut query: Query, kind: &StatementKind) -> Result<i64, Problem> {
    let mut count = 0_u64;
    while let Some(batch) = query.next().await {
        let batch = batch?;
        if kind.is_count() {
            let counts = batch.columns().first().and_then(|counts| counts.as_primitive_opt::<UInt64Type>());
            count = counts.map_or(count, |counts| count + counts.iter().flatten().sum::<u64>());
        }
    }
    Ok(i64::try_from(count).unwrap_or(i64::MAX))
}
