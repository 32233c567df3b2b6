//! A `COPY` carried out: rows from the client into a table, batch by batch, or rows of a query to the client.

use super::options::Form;
use super::reader::{Cells, Reader, Rows};
use super::statement::{Copy, Source, quoted};
use super::writer::Writer;
use crate::postgres::answer::{Answer, Format};
use crate::postgres::failure::Failure;
use crate::postgres::line::Ended;
use crate::postgres::request::Request;
use crate::postgres::run::{Fault, Formats, Output, Progress};
use crate::postgres::script::SHORT_BYTES;
use crate::postgres::session::Session;
use crate::postgres::values::{Shown, TEXT, Zone, binaries_as, decode, pg_type, read_as, texts_as};
use bytes::Bytes;
use datafusion::arrow::array::{Array, ArrayRef, ListArray};
use datafusion::arrow::buffer::OffsetBuffer;
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field};
use datafusion::scalar::ScalarValue;
use filbert_sql::StatementKind;
use std::sync::Arc;

/// Bytes of a message that are taken apart before rows are inserted: what they become is held.
const PIECE_BYTES: usize = 256 << 10;

/// A column that rows are copied into.
#[derive(Clone)]
struct Target {
    name: String,
    shown: Shown,
    wanted: DataType,
}

/// Rows on their way into a table.
struct Filling {
    insert: String,
    table: String,
    targets: Arc<[Target]>,
    inserted: u64,
}

impl Session<'_> {
    /// Carries a `COPY` out, in the direction that it says.
    pub(in crate::postgres) async fn copy(&mut self, copy: &Copy) -> Result<(), Fault> {
        let done = match &copy.source {
            Source::Table { name, columns } if copy.is_in => self.copy_in(copy, name, columns).await,
            _ => self.copy_out(copy).await,
        };
        // Between messages there is nothing that a late cancel could mean.
        self.guest.place.runs(None);
        let rows = done?;
        self.line.out.complete(&format!("COPY {rows}"));
        Ok(())
    }

    async fn copy_out(&mut self, copy: &Copy) -> Result<u64, Fault> {
        // Before it runs: what changes rows would have changed some.
        if self.described(&copy.query()).await?.kind != StatementKind::Rows {
            return Err(Failure::error("0A000", "COPY TO copies the rows of a query that gives some").into());
        }
        let mut running = self.start(&copy.query(), Vec::new(), "").await?;
        let names: Vec<String> =
            running.description.columns.fields().iter().map(|field| field.name().clone()).collect();
        let is_binary = copy.options.form == Form::Binary;
        let formats = Formats::all(if is_binary { Format::Binary } else { Format::Text });
        self.line.out.copies(b'H', is_binary, names.len());
        let writer = Writer::new(&copy.options, names);
        writer.begin(&mut self.line.out);
        let output = Output::Copy(&writer);
        match running.send_as(self.line, &self.guest.place, &formats, 0, output).await? {
            Progress::Complete(_) | Progress::Suspended => {}
        }
        writer.end(running.sent, &mut self.line.out);
        self.line.out.copied();
        Ok(running.sent)
    }

    async fn copy_in(&mut self, copy: &Copy, table: &str, columns: &[String]) -> Result<u64, Fault> {
        if self.guest.variables.is_read_only() {
            return Err(Failure::error("25006", "cannot execute COPY FROM in a read-only transaction").into());
        }
        let targets = self.targets(table, columns).await?;
        let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
        let mut filling = Filling {
            insert: insert(table, &targets),
            table: table.to_owned(),
            targets: targets.into(),
            inserted: 0,
        };
        self.line.out.copies(b'G', copy.options.form == Form::Binary, names.len());
        self.line.flush().await?;
        let most_record = self.line.limit();
        let mut reader = Reader::new(&copy.options, names, most_record);
        loop {
            let (kind, body) = self.line.message().await?;
            match Request::read(kind, body)? {
                Request::CopyData(bytes) => {
                    for at in (0..bytes.len()).step_by(PIECE_BYTES) {
                        let piece = bytes.slice(at..bytes.len().min(at + PIECE_BYTES));
                        reader = self.take(reader, piece, &mut filling).await?;
                    }
                }
                Request::CopyDone => break,
                Request::CopyFail(why) => {
                    let failure = Failure::error("57014", format!("COPY from stdin failed: {why}"));
                    return Err(filling.told(failure).into());
                }
                // They come from clients that did not know yet that rows are awaited.
                Request::Flush | Request::Sync => {}
                Request::Terminate => return Err(Ended::Gone.into()),
                _ => {
                    return Err(
                        Ended::from(Failure::malformed("a message within COPY that is none of it")).into()
                    );
                }
            }
        }
        loop {
            let finished;
            (reader, finished) = self.apart(reader, None, Reader::finish).await?;
            let goes_on = finished.map_err(|failure| filling.told(failure))?;
            if reader.has_rows() {
                self.fill(reader.take(), &mut filling).await?;
            }
            if !goes_on {
                return Ok(filling.inserted);
            }
        }
    }

    /// Takes a piece apart, and inserts rows as soon as there are enough.
    async fn take(
        &mut self,
        mut reader: Reader,
        piece: Bytes,
        filling: &mut Filling,
    ) -> Result<Reader, Fault> {
        let mut piece = Some(piece);
        loop {
            let read;
            (reader, read) = self.apart(reader, piece.take(), Reader::read).await?;
            if !read.map_err(|failure| filling.told(failure))? {
                return Ok(reader);
            }
            self.fill(reader.take(), filling).await?;
        }
    }

    /// Takes what has come apart, with a piece that follows: elsewhere, unless that is short.
    async fn apart(
        &self,
        mut reader: Reader,
        piece: Option<Bytes>,
        work: fn(&mut Reader) -> Result<bool, Failure>,
    ) -> Result<(Reader, Result<bool, Failure>), Failure> {
        let is_short = is_short(&reader, piece.as_ref().map_or(0, Bytes::len));
        let work = move || {
            if let Some(piece) = piece {
                reader.push(&piece);
            }
            let read = work(&mut reader);
            (reader, read)
        };
        if is_short { Ok(work()) } else { self.elsewhere("copy", work).await }
    }

    /// Inserts rows.
    async fn fill(&mut self, rows: Rows, filling: &mut Filling) -> Result<(), Fault> {
        let (targets, zone) = (Arc::clone(&filling.targets), self.zone.clone());
        let lines = (rows.lines.first().copied().unwrap_or(0), rows.lines.last().copied().unwrap_or(0));
        let values = self.elsewhere("copy", move || values(rows, &targets, &zone)).await?;
        let values = values.map_err(|failure| filling.told(failure))?;
        let inserted = match self.start(&filling.insert, values, "").await {
            Ok(mut running) => {
                let sent = running.send(self.line, &self.guest.place, &Formats::default(), 0).await;
                sent.map(|_| running.changed)
            }
            Err(failure) => Err(failure.into()),
        };
        match inserted {
            Ok(rows) => {
                filling.inserted += rows;
                Ok(())
            }
            Err(Fault::Failed(mut failure)) => {
                failure.message = format!("lines {} to {}: {}", lines.0, lines.1, failure.message).into();
                Err(filling.told(failure).into())
            }
            Err(ended) => Err(ended),
        }
    }

    /// The columns that rows are copied into, with the types that their values have there.
    async fn targets(&self, table: &str, columns: &[String]) -> Result<Vec<Target>, Failure> {
        let names = match columns {
            [] => {
                let described = self.described(&format!("SELECT * FROM {table}")).await?;
                described.columns.fields().iter().map(|field| field.name().clone()).collect()
            }
            names => names.to_vec(),
        };
        let places: Vec<String> = (1..=names.len()).map(|at| format!("${at}")).collect();
        let text = format!("INSERT INTO {table} ({}) VALUES ({})", quoted(&names), places.join(", "));
        let described = self.described(&text).await?;
        let target = |(at, name): (usize, String)| {
            let planned = described.parameters.get(at).cloned().flatten();
            let shown = planned.as_ref().map(|wanted| pg_type(&Field::new("", wanted.clone(), true)));
            let shown = shown.unwrap_or(Shown::One(&TEXT));
            Target { name, shown, wanted: planned.unwrap_or_else(|| read_as(shown)) }
        };
        Ok(names.into_iter().enumerate().map(target).collect())
    }
}

impl Filling {
    /// A failure, and what it leaves behind.
    fn told(&self, mut failure: Failure) -> Failure {
        let (table, inserted) = (&self.table, self.inserted);
        let stay = match inserted {
            0 => String::new(),
            rows => format!("; the {rows} rows that were copied before stay in {table}"),
        };
        failure.message = format!("COPY {table}, {}{stay}", failure.message).into();
        failure
    }
}

/// Tells if the reader may take apart what it has and `more` bytes on an I/O loop, where the other connections wait for it. What
/// counts is all that a piece may complete: the last byte of a large record is a short piece.
fn is_short(reader: &Reader, more: usize) -> bool {
    reader.waiting_bytes() + more <= SHORT_BYTES
}

/// Inserts rows that are given as one array per column.
fn insert(table: &str, targets: &[Target]) -> String {
    let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
    let column = |(at, target): (usize, &Target)| {
        let list = DataType::new_list(target.wanted.clone(), true).to_string().replace('\'', "''");
        format!("unnest(arrow_cast(${}, '{list}')) AS c{at}", at + 1)
    };
    let each: Vec<String> = targets.iter().enumerate().map(column).collect();
    format!("INSERT INTO {table} ({}) SELECT {}", quoted(&names), each.join(", "))
}

/// Rows as one array per column.
fn values(rows: Rows, targets: &[Target], zone: &Zone) -> Result<Vec<ScalarValue>, Failure> {
    let Rows { cells, lines, .. } = rows;
    let array = |(target, cells): (&Target, Cells)| {
        let array = column(target, cells, zone).map_err(|(at, mut failure)| {
            let line = lines.get(at).copied().unwrap_or(0);
            failure.message = format!("line {line}, column {:?}: {}", target.name, failure.message).into();
            failure
        })?;
        let field = Arc::new(Field::new_list_field(target.wanted.clone(), true));
        let list = ListArray::new(field, OffsetBuffer::from_lengths([array.len()]), array, None);
        Ok(ScalarValue::List(Arc::new(list)))
    };
    targets.iter().zip(cells).map(array).collect()
}

/// The cells of a column as its type; or which of them is wrong, and why.
fn column(target: &Target, cells: Cells, zone: &Zone) -> Result<ArrayRef, (usize, Failure)> {
    let Shown::One(of) = target.shown else { return one_by_one(target, cells, zone) };
    match cells.into_texts() {
        Ok(texts) => {
            let read = texts_as(of, &texts, zone)?;
            as_wanted(&read, target, |at| texts.value(at).to_owned())
        }
        Err(values) => as_wanted(&binaries_as(of, values, zone)?, target, |_| "that value".to_owned()),
    }
}

/// Arrays, which are values of their own.
fn one_by_one(target: &Target, cells: Cells, zone: &Zone) -> Result<ArrayRef, (usize, Failure)> {
    let (format, cells) = match cells.into_texts() {
        Ok(texts) => {
            let bytes = |text: Option<&str>| text.map(|text| Bytes::copy_from_slice(text.as_bytes()));
            (Format::Text, texts.iter().map(bytes).collect())
        }
        Err(values) => (Format::Binary, values),
    };
    let value = |(at, cell): (usize, Option<Bytes>)| {
        decode(target.shown, format, cell.as_ref(), Some(&target.wanted), zone)
            .map_err(|failure| (at, failure))
    };
    let values: Vec<ScalarValue> = cells.into_iter().enumerate().map(value).collect::<Result<_, _>>()?;
    let array = ScalarValue::iter_to_array(values);
    array.map_err(|error| (0, Failure::error("22023", error.to_string())))
}

fn as_wanted(
    read: &ArrayRef,
    target: &Target,
    text: impl Fn(usize) -> String,
) -> Result<ArrayRef, (usize, Failure)> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    let cast = |array: &ArrayRef| cast_with_options(array, &target.wanted, &options);
    let error = match cast(read) {
        Ok(array) => return Ok(array),
        Err(error) => error,
    };
    // Which one it is, only a look at each tells.
    let at = (0..read.len()).find(|at| cast(&read.slice(*at, 1)).is_err()).unwrap_or(0);
    let (Shown::One(of) | Shown::Array(of)) = target.shown;
    let text: String = text(at).chars().take(100).collect();
    let why = format!("invalid input syntax for type {}: {text:?} ({error})", of.sql_name);
    Err((at, Failure::error("22P02", why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last byte of a record of many megabytes was taken for a short piece, and the record was taken apart on the I/O loop.
    #[test]
    fn a_short_piece_that_may_complete_a_large_record_is_not_short() {
        let Ok(copy) = Copy::read("COPY t FROM STDIN CSV").unwrap() else { panic!() };
        let mut reader = Reader::new(&copy.options, vec!["a".into()], 1 << 20);
        assert!(is_short(&reader, SHORT_BYTES) && !is_short(&reader, SHORT_BYTES + 1));
        reader.push(&[b'x'; SHORT_BYTES]);
        assert!(!reader.read().unwrap());
        assert!(is_short(&reader, 0) && !is_short(&reader, 1));
        reader.push(b"\n");
        assert!(!reader.read().unwrap());
        assert!(is_short(&reader, SHORT_BYTES));
    }
}
