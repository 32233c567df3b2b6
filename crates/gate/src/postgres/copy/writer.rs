//! Rows on their way to a client that copies them.

use super::options::{Form, Header, Options};
use crate::postgres::answer::{Answer, patch_length};
use crate::postgres::failure::Failure;
use crate::postgres::values::RowEncoder;
use bytes::{BufMut, BytesMut};
use std::sync::Arc;

/// What the binary format begins with: a signature, no flags, nothing more before the rows.
const BEGIN: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// Writes rows in the form of a `COPY`.
#[derive(Debug, Clone)]
pub(in crate::postgres) struct Writer {
    options: Arc<Options>,
    /// One each: quoted whatever is in it.
    forced: Arc<[bool]>,
    names: Arc<[String]>,
}

impl Writer {
    /// For columns of these names.
    pub(super) fn new(options: &Options, names: Vec<String>) -> Self {
        let forced = names.iter().map(|name| options.force_quote.has(name)).collect();
        Self { options: Arc::new(options.clone()), forced, names: names.into() }
    }

    /// Writes what comes before the first row as a message of its own, if anything does.
    pub(super) fn begin(&self, out: &mut BytesMut) {
        let options = &self.options;
        match (options.form, options.header) {
            (Form::Binary, _) | (_, Header::None) => {}
            (form, _) => out.message(b'd', |out| {
                for (at, name) in self.names.iter().enumerate() {
                    if at > 0 {
                        out.put_u8(options.delimiter);
                    }
                    match form {
                        Form::Csv => self.put_csv(name.as_bytes(), false, out),
                        _ => self.put_text(name.as_bytes(), out),
                    }
                }
                out.put_u8(b'\n');
            }),
        }
    }

    /// Writes what comes after the last row, of so many, if anything does.
    pub(super) fn end(&self, rows: u64, out: &mut BytesMut) {
        if self.options.form == Form::Binary {
            out.message(b'd', |out| {
                if rows == 0 {
                    out.put_slice(BEGIN);
                }
                out.put_i16(-1);
            });
        }
    }

    /// Writes a row as a message of its own; nothing of it when a value cannot be written. In binary, the beginning is in the message of the first,
    /// as PostgreSQL sends it: there are clients that rely on it.
    pub(in crate::postgres) fn put_row(
        &self,
        rows: &RowEncoder,
        row: usize,
        is_first: bool,
        out: &mut BytesMut,
    ) -> Result<(), Failure> {
        let before = out.len();
        out.put_u8(b'd');
        let begin = out.len();
        out.put_i32(0);
        if is_first && self.options.form == Form::Binary {
            out.put_slice(BEGIN);
        }
        self.put_values(rows, row, out).inspect_err(|_| out.truncate(before))?;
        patch_length(out, begin, 0);
        Ok(())
    }

    fn put_values(&self, rows: &RowEncoder, row: usize, out: &mut BytesMut) -> Result<(), Failure> {
        if self.options.form == Form::Binary {
            return rows.put_tuple(row, out);
        }
        let mut value = BytesMut::new();
        for column in 0..rows.columns() {
            if column > 0 {
                out.put_u8(self.options.delimiter);
            }
            value.clear();
            match (rows.put_bare(row, column, &mut value)?, self.options.form) {
                (false, _) => out.put_slice(self.options.null.as_bytes()),
                (true, Form::Csv) => self.put_csv(&value, self.forced[column], out),
                (true, _) => self.put_text(&value, out),
            }
        }
        out.put_u8(b'\n');
        Ok(())
    }

    fn put_text(&self, value: &[u8], out: &mut BytesMut) {
        for byte in value {
            let letter = match byte {
                b'\\' => b'\\',
                8 => b'b',
                b'\t' => b't',
                b'\n' => b'n',
                11 => b'v',
                12 => b'f',
                b'\r' => b'r',
                byte if *byte == self.options.delimiter => *byte,
                byte => {
                    out.put_u8(*byte);
                    continue;
                }
            };
            out.put_slice(&[b'\\', letter]);
        }
    }

    fn put_csv(&self, value: &[u8], forced: bool, out: &mut BytesMut) {
        let Options { delimiter, quote, escape, null, .. } = self.options.as_ref();
        let special = |byte: &u8| byte == delimiter || byte == quote || matches!(byte, b'\n' | b'\r');
        // A line of its own with these two would end the rows.
        let is_end = self.names.len() == 1 && value == b"\\.";
        if !forced && !is_end && value != null.as_bytes() && !value.iter().any(special) {
            out.put_slice(value);
            return;
        }
        out.put_u8(*quote);
        for byte in value {
            if byte == quote || byte == escape {
                out.put_u8(*escape);
            }
            out.put_u8(*byte);
        }
        out.put_u8(*quote);
    }
}
