//! A statement on its way: submitted, then its rows sent, batch by batch.
//!
//! The next batch is asked for when the system took the rows of the last one, so a client that reads slowly slows its query, whose exchanges
//! are bounded, and holds one batch and one buffer here. Rows are written in slices of one buffer: the other connections of the loop have
//! their turn in between.

use super::answer::{Answer, ColumnAnswer, Format};
use super::copy::Writer;
use super::failure::Failure;
use super::host::Place;
use super::line::{Ended, Line};
use super::values::{RowEncoder, Zone, pg_type};
use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Schema, UInt64Type};
use datafusion::scalar::ScalarValue;
use filbert_sql::{Description, Query, Session, SqlError, StatementKind};
use futures::{FutureExt, StreamExt};

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

impl From<SqlError> for Fault {
    fn from(error: SqlError) -> Self {
        Self::Failed(error.into())
    }
}

/// Which columns a client wants in which format: none given is text for all, one is for all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
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

    /// One for all.
    pub(super) fn all(format: Format) -> Self {
        Self(vec![format])
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

/// What rows are sent as.
#[derive(Clone, Copy)]
pub(super) enum Output<'a> {
    /// Rows of a query.
    Rows,
    /// Rows of a `COPY`.
    Copy(&'a Writer),
}

/// A statement that runs.
pub(super) struct Running {
    query: Query,
    pub(super) description: Description,
    /// The rows of a batch that are not all sent.
    current: Option<Current>,
    /// In these formats.
    formats: Formats,
    /// Moments are shown in it: that of the session when it began.
    zone: Zone,
    /// Rows, from the first on.
    pub(super) sent: u64,
    /// Rows that it inserted, updated or deleted.
    pub(super) changed: u64,
}

/// A batch that is being sent.
struct Current {
    batch: RecordBatch,
    rows: RowEncoder,
    next: usize,
}

impl Current {
    fn new(batch: RecordBatch, next: usize, formats: &Formats, zone: &Zone) -> Result<Self, Failure> {
        let rows = RowEncoder::new(&batch, zone, |at| formats.of(at))?;
        Ok(Self { batch, rows, next })
    }
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
    /// request that finds nothing to end would be lost, and the statement run on. Who sends nothing says so to `place`. `sent` is the text in which
    /// mistakes are pointed at.
    pub(super) async fn start(
        session: &Session,
        place: &Place,
        text: &str,
        values: Vec<ScalarValue>,
        sent: &str,
        zone: &Zone,
    ) -> Result<Self, Failure> {
        let mut query = session.query_with(text, values)?;
        place.runs(Some(query.canceller()));
        let described = query.description().await.map_err(|error| Failure::of(error, text, sent));
        match described.and_then(|description| check_columns(&description).map(|()| description)) {
            Ok(description) => Ok(Self {
                query,
                description,
                current: None,
                formats: Formats::default(),
                zone: zone.clone(),
                sent: 0,
                changed: 0,
            }),
            Err(failure) => {
                place.runs(None);
                Err(failure)
            }
        }
    }

    /// The values of its first row, for who wants no more.
    pub(super) async fn first_row(mut self) -> Result<Vec<ScalarValue>, Failure> {
        while let Some(batch) = self.query.next().await.transpose()? {
            if batch.num_rows() > 0 {
                let value =
                    |column: &ArrayRef| ScalarValue::try_from_array(column, 0).map_err(SqlError::from);
                return Ok(batch.columns().iter().map(value).collect::<Result<_, _>>()?);
            }
        }
        Err(Failure::error("02000", "the query has no row"))
    }

    /// Sends rows, `limit` at most unless it is 0.
    pub(super) async fn send(
        &mut self,
        line: &mut Line,
        place: &Place,
        formats: &Formats,
        limit: usize,
    ) -> Result<Progress, Fault> {
        self.send_as(line, place, formats, limit, Output::Rows).await
    }

    /// Sends rows as messages of that kind, `limit` at most unless it is 0.
    pub(super) async fn send_as(
        &mut self,
        line: &mut Line,
        place: &Place,
        formats: &Formats,
        limit: usize,
        output: Output<'_>,
    ) -> Result<Progress, Fault> {
        place.runs(Some(self.query.canceller()));
        let sent = self.send_until(line, formats, limit, output).await;
        place.runs(None);
        sent
    }

    async fn send_until(
        &mut self,
        line: &mut Line,
        formats: &Formats,
        limit: usize,
        output: Output<'_>,
    ) -> Result<Progress, Fault> {
        let before = self.sent;
        // Each FETCH of a cursor has its own.
        if self.formats != *formats {
            self.formats = formats.clone();
            if let Some(Current { batch, next, .. }) = self.current.take() {
                self.current = Some(Current::new(batch, next, formats, &self.zone)?);
            }
        }
        loop {
            if let Some(Current { rows, next, .. }) = &mut self.current {
                while *next < rows.rows() {
                    match output {
                        Output::Rows => rows.put_row(*next, &mut line.out)?,
                        Output::Copy(writer) => {
                            writer.put_row(rows, *next, self.sent == 0, &mut line.out)?;
                        }
                    }
                    *next += 1;
                    self.sent += 1;
                    if line.is_full() {
                        line.flush().await?;
                    }
                    // Whether there is another row may take as long as the query likes: that is not waited for.
                    if limit > 0 && self.sent - before >= limit as u64 {
                        return Ok(Progress::Suspended);
                    }
                }
                self.current = None;
            }
            match self.next(line, before).await?.transpose()? {
                None => return Ok(Progress::Complete(self.tag(self.sent - before))),
                Some(batch) => self.take(batch)?,
            }
        }
    }

    /// The next batch. Rows that are written do not wait for it in the buffer: when it is not there, they leave.
    async fn next(
        &mut self,
        line: &mut Line,
        before: u64,
    ) -> Result<Option<Result<RecordBatch, SqlError>>, Ended> {
        for _ in 0..2 {
            if let Some(ready) = self.query.next().now_or_never() {
                return Ok(ready);
            }
            // The end of a short query is some microseconds behind its rows: a turn for the other connections, and one packet for both.
            tokio::task::yield_now().await;
        }
        if self.sent > before {
            line.flush().await?;
        }
        Ok(self.query.next().await)
    }

    fn take(&mut self, batch: RecordBatch) -> Result<(), Failure> {
        match self.description.kind {
            StatementKind::Rows => {
                self.current = Some(Current::new(batch, 0, &self.formats, &self.zone)?);
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

    /// What it did, with the rows that were sent this time.
    fn tag(&self, sent: u64) -> String {
        let (kind, rows) = match &self.description.change {
            Some(change) => (change, sent),
            None => (&self.description.kind, self.changed),
        };
        match kind {
            StatementKind::Rows => format!("SELECT {sent}"),
            StatementKind::CreateTableAs => format!("SELECT {rows}"),
            StatementKind::Insert => format!("INSERT 0 {rows}"),
            StatementKind::Update => format!("UPDATE {rows}"),
            StatementKind::Delete => format!("DELETE {rows}"),
            StatementKind::Copy => format!("COPY {rows}"),
            StatementKind::Other(name) => name.clone(),
        }
    }

    /// True when it changes something that a ROLLBACK would have to undo.
    pub(super) fn changes(&self) -> bool {
        self.description.kind != StatementKind::Rows || self.description.change.is_some()
    }
}

/// As many columns as PostgreSQL has at most: its clients count them in 16 bits.
const MOST_COLUMNS: usize = 1_664;

/// Refuses more columns than a client could be told of.
pub(super) fn check_columns(description: &Description) -> Result<(), Failure> {
    let columns = description.columns.fields().len();
    if description.kind == StatementKind::Rows && columns > MOST_COLUMNS {
        return Err(Failure::error(
            "54011",
            format!(
                "the statement gives {columns} columns, and a result has at most {MOST_COLUMNS}; select fewer"
            ),
        ));
    }
    Ok(())
}

/// What PostgreSQL says of a `numeric(digits, after)`: the one above the lower 16 bits, the other in the lower 11, and 4 to all of it.
fn modifier(data_type: &DataType) -> i32 {
    match data_type {
        DataType::Decimal32(digits, after)
        | DataType::Decimal64(digits, after)
        | DataType::Decimal128(digits, after)
        | DataType::Decimal256(digits, after) => (i32::from(*digits) << 16 | i32::from(*after) & 0x7ff) + 4,
        // It is a numeric there, too.
        DataType::UInt64 => (20 << 16) + 4,
        _ => -1,
    }
}

/// Tells a client the columns.
pub(super) fn put_columns(line: &mut Line, columns: &Schema, formats: &Formats) {
    line.out.columns(columns.fields().iter().enumerate().map(|(at, field)| {
        let shown = pg_type(field);
        let (name, modifier) = (field.name(), modifier(field.data_type()));
        ColumnAnswer { name, oid: shown.oid(), size: shown.size(), modifier, format: formats.of(at) }
    }));
}
