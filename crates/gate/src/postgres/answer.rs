//! What the door sends: each message written into the buffer of its connection.

use super::failure::{Failure, Severity};
use bytes::{BufMut, BytesMut};

/// Text or binary, as the client asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Binary,
}

/// A column of a result, as clients are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ColumnAnswer<'a> {
    pub(super) name: &'a str,
    pub(super) oid: u32,
    /// Bytes of a value; -1 when that varies.
    pub(super) size: i16,
    /// The digits of a numeric; -1 when nothing more is known of the type.
    pub(super) modifier: i32,
    pub(super) format: Format,
}

/// What the client may do next, told with every `ReadyForQuery`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transaction {
    None,
    Open,
    Failed,
}

/// Writes messages.
pub(super) trait Answer {
    /// A message of that kind; `body` writes what is in it.
    fn message(&mut self, kind: u8, body: impl FnOnce(&mut BytesMut));
    /// A text and its zero byte.
    fn text(&mut self, text: &str);

    fn authentication(&mut self, step: i32, data: &[u8]) {
        self.message(b'R', |out| {
            out.put_i32(step);
            out.put_slice(data);
        });
    }

    fn parameter_status(&mut self, name: &str, value: &str) {
        self.message(b'S', |out| {
            out.text(name);
            out.text(value);
        });
    }

    fn key_data(&mut self, process: i32, key: &[u8]) {
        self.message(b'K', |out| {
            out.put_i32(process);
            out.put_slice(key);
        });
    }

    /// Minor versions above this and these options are not known here.
    fn negotiate_version(&mut self, minor: i32, options: &[&str]) {
        self.message(b'v', |out| {
            out.put_i32(minor);
            out.put_i32(options.len() as i32);
            options.iter().for_each(|option| out.text(option));
        });
    }

    fn ready(&mut self, transaction: Transaction) {
        self.message(b'Z', |out| {
            out.put_u8(match transaction {
                Transaction::None => b'I',
                Transaction::Open => b'T',
                Transaction::Failed => b'E',
            });
        });
    }

    fn complete(&mut self, tag: &str) {
        self.message(b'C', |out| out.text(tag));
    }

    fn columns<'a>(&mut self, columns: impl ExactSizeIterator<Item = ColumnAnswer<'a>>) {
        self.message(b'T', |out| {
            out.put_u16(columns.len() as u16);
            for (at, column) in columns.enumerate() {
                out.text(column.name);
                // Of no table: the oids of tables are for the catalog alone.
                out.put_u32(0);
                out.put_i16(at as i16 + 1);
                out.put_u32(column.oid);
                out.put_i16(column.size);
                out.put_i32(column.modifier);
                out.put_i16(if column.format == Format::Binary { 1 } else { 0 });
            }
        });
    }

    fn parameters(&mut self, oids: &[u32]) {
        self.message(b't', |out| {
            out.put_u16(oids.len() as u16);
            oids.iter().for_each(|oid| out.put_u32(*oid));
        });
    }

    /// Messages without anything in them.
    fn parsed(&mut self) {
        self.message(b'1', |_| ());
    }

    fn bound(&mut self) {
        self.message(b'2', |_| ());
    }

    fn closed(&mut self) {
        self.message(b'3', |_| ());
    }

    fn no_data(&mut self) {
        self.message(b'n', |_| ());
    }

    /// Rows are awaited (`G`) or follow (`H`), by `COPY`.
    fn copies(&mut self, kind: u8, binary: bool, columns: usize) {
        self.message(kind, |out| {
            let format = u8::from(binary);
            out.put_u8(format);
            out.put_u16(columns as u16);
            (0..columns).for_each(|_| out.put_u16(format.into()));
        });
    }

    /// The rows of a `COPY` are at their end.
    fn copied(&mut self) {
        self.message(b'c', |_| ());
    }

    fn suspended(&mut self) {
        self.message(b's', |_| ());
    }

    fn empty_query(&mut self) {
        self.message(b'I', |_| ());
    }

    fn failure(&mut self, failure: &Failure) {
        let kind = if failure.severity == Severity::Warning { b'N' } else { b'E' };
        self.message(kind, |out| {
            let position = failure.position.map(|position| position.to_string());
            let fields = [
                (b'S', Some(failure.severity.word())),
                (b'V', Some(failure.severity.word())),
                (b'C', Some(failure.code)),
                (b'M', Some(&*failure.message)),
                (b'P', position.as_deref()),
            ];
            for (field, text) in fields {
                if let Some(text) = text {
                    out.put_u8(field);
                    out.text(text);
                }
            }
            out.put_u8(0);
        });
    }
}

impl Answer for BytesMut {
    fn message(&mut self, kind: u8, body: impl FnOnce(&mut BytesMut)) {
        self.put_u8(kind);
        let begin = self.len();
        self.put_i32(0);
        body(self);
        patch_length(self, begin, 0);
    }

    fn text(&mut self, text: &str) {
        // A zero would end it here, and the rest would be taken for the next field.
        let end = text.find('\0').unwrap_or(text.len());
        self.put_slice(&text.as_bytes()[..end]);
        self.put_u8(0);
    }
}

/// Writes at `begin`, where four bytes were left free, how many bytes follow from there on; without the first `without` of them.
pub(super) fn patch_length(out: &mut BytesMut, begin: usize, without: usize) {
    let length = i32::try_from(out.len() - begin - without).unwrap_or(i32::MAX);
    out[begin..begin + 4].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_say_their_length() {
        let mut out = BytesMut::new();
        out.complete("SELECT 1");
        assert_eq!(&out[..], b"C\0\0\0\x0dSELECT 1\0");
        out.clear();
        out.ready(Transaction::Failed);
        assert_eq!(&out[..], b"Z\0\0\0\x05E");
        out.clear();
        out.failure(&Failure::error("42601", "a\0b"));
        assert_eq!(&out[..], b"E\0\0\0\x1dSERROR\0VERROR\0C42601\0Ma\0\0");
    }
}
