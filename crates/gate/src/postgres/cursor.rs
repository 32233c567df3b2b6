//! Cursors by SQL: `DECLARE`, `FETCH` and `CLOSE`. They are the portals of the protocol, with the same names and limits, so they go forward and end
//! with their transaction.
//!
//! Rows come in the format that the `FETCH` asks for. Rejected: `SCROLL` and `WITH HOLD`, for which rows that were sent would have to be kept.

use super::answer::{Answer, Transaction};
use super::failure::Failure;
use super::local::{Local, Token, skipped, token};
use super::prepared::{PortalState, Prepared, What};
use super::run::{Fault, Formats, Progress};
use super::session::{Session, same_columns};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::scalar::ScalarValue;
use filbert_sql::StatementKind;
use std::sync::Arc;

/// `DECLARE name CURSOR FOR query`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) text: String,
}

/// `FETCH rows FROM cursor`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fetch {
    pub(super) cursor: String,
    /// So many at most; 0 for all.
    pub(super) rows: usize,
}

const FORWARD: Local = Local::Unserved("a cursor goes forward only: fetch NEXT, a number of rows or ALL");

/// Reads what follows `DECLARE`; `None` when that is something else.
pub(super) fn declaration(text: &str) -> Option<Local> {
    let (name, mut rest) = token(text)?;
    let name = name.name().filter(|name| !name.is_empty())?;
    let mut next = || {
        let (word, tail) = token(rest)?;
        rest = tail;
        word.name()
    };
    let mut refused = None;
    loop {
        match next()?.as_str() {
            "cursor" => break,
            "asensitive" | "insensitive" => {}
            "no" if next()? == "scroll" => {}
            "scroll" => refused = Some(FORWARD),
            "binary" => {
                refused = Some(Local::Unserved("ask for binary rows by the protocol: BINARY is none"))
            }
            _ => return None,
        }
    }
    match next()?.as_str() {
        "for" => {}
        with @ ("with" | "without") => {
            if next()? != "hold" || next()? != "for" {
                return None;
            }
            if with == "with" {
                let why = "a cursor ends with its transaction: WITH HOLD is none";
                refused = Some(Local::Unserved(why));
            }
        }
        _ => return None,
    }
    let text = skipped(rest)?.trim_end().trim_end_matches(';').to_owned();
    let declared = (!text.is_empty()).then_some(Local::Declare(Declaration { name, text }))?;
    Some(refused.unwrap_or(declared))
}

/// Reads what follows `FETCH`; `None` when that is something else.
pub(super) fn fetch(tokens: &[Token]) -> Option<Local> {
    let (cursor, mut before) = tokens.split_last()?;
    if let [rest @ .., from] = before
        && (from.is("from") || from.is("in"))
    {
        before = rest;
    }
    let words: Vec<String> = before.iter().map(Token::name).collect::<Option<_>>()?;
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let rows = match words.as_slice() {
        [] | ["next" | "forward"] => 1,
        ["all"] | ["forward", "all"] => 0,
        ["prior" | "first" | "last" | "backward"] | ["absolute" | "relative" | "backward", _] => {
            return Some(FORWARD);
        }
        [rows] | ["forward", rows] => match rows.parse::<i64>().ok()? {
            1.. => rows.parse().ok()?,
            _ => return Some(FORWARD),
        },
        _ => return None,
    };
    Some(Local::Fetch(Fetch { cursor: cursor.name()?, rows }))
}

impl Session<'_> {
    /// The query of a cursor, planned.
    pub(super) async fn planned_cursor(
        &self,
        declared: &Declaration,
        types: &[u32],
    ) -> Result<Prepared, Failure> {
        let planned = self.planned(&declared.text, types).await?;
        match &planned.what {
            What::Sql(described) if described.kind == StatementKind::Rows => Ok(planned),
            _ => Err(Failure::error("42P11", "a cursor is declared for a query that gives rows")),
        }
    }

    /// `DECLARE` without parameters.
    pub(super) async fn declare_plain(&mut self, declared: &Declaration) -> Result<(), Fault> {
        let query = self.planned_cursor(declared, &[]).await?;
        if !query.parameters.is_empty() {
            return Err(Failure::error("42P02", "there is no parameter $1").into());
        }
        self.declare(&declared.name, &Arc::new(query), Vec::new()).await
    }

    /// Puts a portal on the desk, whose query begins now.
    pub(super) async fn declare(
        &mut self,
        name: &str,
        query: &Arc<Prepared>,
        values: Vec<ScalarValue>,
    ) -> Result<(), Fault> {
        if self.transaction == Transaction::None {
            let why = "DECLARE CURSOR can only be used in transaction blocks";
            return Err(Failure::error("25P01", why).into());
        }
        self.desk.add_portal(name.to_owned(), query, values, Formats::default())?;
        let begun = self.begin(name).await;
        // Between messages there is nothing that a late cancel could mean.
        self.guest.place.runs(None);
        begun.inspect_err(|_| self.desk.close_portal(name))?;
        self.line.out.complete("DECLARE CURSOR");
        Ok(())
    }

    /// The columns of a cursor, if there is such a one.
    pub(super) fn cursor_columns(&self, name: &str) -> Option<SchemaRef> {
        let portal = self.desk.cursor(name).ok()?;
        match &portal.state {
            PortalState::Running(running) => Some(Arc::clone(&running.description.columns)),
            _ => self.planned_columns(&portal.statement.what),
        }
    }

    /// Sends the next rows of a cursor.
    pub(super) async fn fetch(&mut self, fetch: &Fetch, formats: &Formats) -> Result<(), Fault> {
        let name = &fetch.cursor;
        self.desk.cursor(name)?;
        if let Some(columns) = self.cursor_columns(name) {
            formats.fit(columns.fields().len(), "columns")?;
        }
        let told = self.cursor_columns(name);
        self.begin(name).await?;
        let portal = self.desk.portal(name)?;
        let mut sent = 0;
        if let PortalState::Running(running) = &mut portal.state {
            if let Some(told) = told {
                let same = same_columns(&told, &running.description.columns);
                same.inspect_err(|_| self.guest.place.runs(None))?;
            }
            let before = running.sent;
            let progress = running.send(self.line, &self.guest.place, formats, fetch.rows).await;
            sent = running.sent - before;
            match progress {
                Ok(Progress::Suspended) => {}
                Ok(_) => portal.state = PortalState::Done,
                Err(_) => portal.state = PortalState::Failed,
            }
            progress?;
        }
        self.line.out.complete(&format!("FETCH {sent}"));
        Ok(())
    }

    /// `CLOSE`: one, or all.
    pub(super) fn close_cursor(&mut self, name: Option<&str>) -> Result<&'static str, Failure> {
        let Some(name) = name else {
            self.desk.close_portals();
            return Ok("CLOSE CURSOR ALL");
        };
        self.desk.cursor(name)?;
        self.desk.close_portal(name);
        Ok("CLOSE CURSOR")
    }
}
