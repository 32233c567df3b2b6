//! A statement on its way: submitted, then its rows sent, batch by batch.
//!
//! The next batch is asked for when the system took the rows of the last one, so a client that reads slowly slows its query, whose exchanges
//! are bounded, and holds one batch and one buffer here. Rows are written in slices of one buffer: the other connections of the loop have
//! their turn in between.

use super::answer::{Answer, ColumnAnswer, Format};
use super::failure::Failure;
use super::host::Place;
use super::line::{Ended, Line};
use super::values::{RowEncoder, pg_type};
use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{Schema, UInt64Type};
use datafusion::scalar::ScalarValue;
use filbert_sql::{Description, Query, Session, StatementKind};
use futures::StreamExt;

/// Why a statement has no end.
#[derive(Debug)]
pub(super) enum Fault {
    /// The statement failed; the session goes on.
    Failed(Failure),
    /// The connection ends.
    Ended(Ended),
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

impl From<Ended> for Fault {
    fn from(ended: Ended) -> Self {
        Self::Ended(ended)
    }
}

impl From<filbert_sql::SqlError> for Fault {
    fn from(error: filbert_sql::SqlError) -> Self {
        Self::Failed(error.into())
    }
}

/// Which columns a client wants in which format: none given is text for all, one is for all.
#[derive(Debug, Clone, Default)]
pub(super) struct Formats(Vec<Format>);

impl Formats {
    pub(super) fn new(codes: &[i16]) -> Result<Self, Failure> {
        let format = |code: &i16| match code {
            0 => Ok(Format::Text),
            1 => Ok(Format::Binary),
            other => {
                Err(Failure::error("08P01", format!("there is no format {other}; 0 is text, 1 is binary")))
            }
        };
        codes.iter().map(format).collect::<Result<_, _>>().map(Self)
    }

    pub(super) fn of(&self, at: usize) -> Format {
        match self.0.as_slice() {
            [] => Format::Text,
            [all] => *all,
            each => each.get(at).copied().unwrap_or(Format::Text),
        }
    }

    /// Refuses a number of formats that fits neither all nor each.
    pub(super) fn fit(&self, columns: usize, what: &str) -> Result<(), Failure> {
        if self.0.len() > 1 && self.0.len() != columns {
            return Err(Failure::error(
                "08P01",
                format!("{} formats for {columns} {what}; give none, one, or one each", self.0.len()),
            ));
        }
        Ok(())
    }
}

/// A statement that runs.
pub(super) struct Running {
    query: Query,
    pub(super) description: Description,
    /// The rows of a batch that are not all sent.
    current: Option<(RowEncoder, usize)>,
    sent: u64,
    changed: u64,
}

/// How far it got.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// As many rows as were asked for are sent; there may be more.
    Suspended,
    /// It is done; the tag says what it did.
    Complete(String),
}

impl Running {
    /// Submits it and waits until it is planned. From here on a cancel request ends it: also between this and [`Running::send`], where a
    /// request that finds nothing to end would be lost, and the statement run on. Who sends nothing says so to `place`.
    pub(super) async fn start(
        session: &Session,
        place: &Place,
        text: &str,
        values: Vec<ScalarValue>,
    ) -> Result<Self, Failure> {
        let mut query = session.query_with(text, values)?;
        place.runs(Some(query.canceller()));
        match query.description().await {
            Ok(description) => Ok(Self { query, description, current: None, sent: 0, changed: 0 }),
            Err(error) => {
                place.runs(None);
                Err(error.into())
            }
        }
    }

    /// Sends rows, `limit` at most unless it is 0.
    pub(super) async fn send(
        &mut self,
        line: &mut Line,
        place: &Place,
        formats: &Formats,
        limit: usize,
    ) -> Result<Progress, Fault> {
        place.runs(Some(self.query.canceller()));
        let sent = self.send_until(line, formats, limit).await;
        place.runs(None);
        sent
    }

    async fn send_until(
        &mut self,
        line: &mut Line,
        formats: &Formats,
        limit: usize,
    ) -> Result<Progress, Fault> {
        let before = self.sent;
        loop {
            if let Some((rows, next)) = &mut self.current {
                while *next < rows.rows() {
                    if limit > 0 && self.sent - before >= limit as u64 {
                        return Ok(Progress::Suspended);
                    }
                    rows.put_row(*next, &mut line.out);
                    *next += 1;
                    self.sent += 1;
                    if line.is_full() {
                        line.flush().await?;
                    }
                }
                self.current = None;
            }
            match self.query.next().await.transpose()? {
                None => return Ok(Progress::Complete(self.tag())),
                Some(batch) => self.take(&batch, formats)?,
            }
        }
    }

    fn take(&mut self, batch: &RecordBatch, formats: &Formats) -> Result<(), Failure> {
        match self.description.kind {
            StatementKind::Rows => {
                self.current = Some((RowEncoder::new(batch, |at| formats.of(at))?, 0));
            }
            ref kind if kind.is_count() => {
                let counts =
                    batch.columns().first().and_then(|column| column.as_primitive_opt::<UInt64Type>());
                self.changed += counts.map_or(0, |counts| counts.iter().flatten().sum());
            }
            _ => {}
        }
        Ok(())
    }

    fn tag(&self) -> String {
        match &self.description.kind {
            StatementKind::Rows => format!("SELECT {}", self.sent),
            StatementKind::Insert => format!("INSERT 0 {}", self.changed),
            StatementKind::Update => format!("UPDATE {}", self.changed),
            StatementKind::Delete => format!("DELETE {}", self.changed),
            StatementKind::Other(name) => name.clone(),
        }
    }

    /// True when it changes something that a ROLLBACK would have to undo.
    pub(super) fn changes(&self) -> bool {
        self.description.kind != StatementKind::Rows
    }
}

/// Tells a client the columns.
pub(super) fn put_columns(line: &mut Line, columns: &Schema, formats: &Formats) {
    line.out.columns(columns.fields().iter().enumerate().map(|(at, field)| {
        let shown = pg_type(field);
        ColumnAnswer { name: field.name(), oid: shown.oid(), size: shown.size(), format: formats.of(at) }
    }));
}
