//! Rows on their way from a client: bytes in pieces of any size, taken apart into records and cells.

use super::options::{Form, Header, Options};
use crate::postgres::failure::Failure;
use bytes::{Buf, Bytes, BytesMut};
use datafusion::arrow::array::{StringArray, StringBuilder};

/// Rows of one insert.
const MOST_ROWS: usize = 8_192;

/// Bytes of the rows of one insert.
const MOST_BYTES: usize = 1 << 20;

/// What the binary format begins with.
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

/// Flags of the binary format that a reader must know; none is known here.
const CRITICAL: u32 = 0xffff_0000;

/// Takes the bytes of a `COPY ... FROM STDIN` apart.
pub(super) struct Reader {
    options: Options,
    columns: Vec<String>,
    /// What came and is not taken apart.
    input: BytesMut,
    /// Bytes of it that are looked at, and what is known there.
    scanned: usize,
    in_quotes: bool,
    escaped: bool,
    /// Lines, or rows of the binary format, from 1.
    line: u64,
    begins: bool,
    /// Lines end with `\r\n`, as the first one did.
    ends_with_return: Option<bool>,
    /// What follows is not looked at.
    is_over: bool,
    /// A record has so many bytes at most.
    most_record: usize,
    rows: Rows,
}

/// The cells of some rows, column by column.
pub(super) struct Rows {
    pub(super) cells: Vec<Cells>,
    /// Where each row was.
    pub(super) lines: Vec<u64>,
    bytes: usize,
}

/// The cells of one column.
pub(super) enum Cells {
    Texts(StringBuilder),
    Binary(Vec<Option<Bytes>>),
}

impl Rows {
    fn new(form: Form, columns: usize) -> Self {
        let cells = |_| match form {
            Form::Binary => Cells::Binary(Vec::new()),
            _ => Cells::Texts(StringBuilder::new()),
        };
        Self { cells: (0..columns).map(cells).collect(), lines: Vec::new(), bytes: 0 }
    }

    fn is_full(&self) -> bool {
        self.lines.len() >= MOST_ROWS || self.bytes >= MOST_BYTES
    }
}

impl Cells {
    /// The texts of a column.
    pub(super) fn into_texts(self) -> Result<StringArray, Vec<Option<Bytes>>> {
        match self {
            Self::Texts(mut texts) => Ok(texts.finish()),
            Self::Binary(values) => Err(values),
        }
    }
}

impl Reader {
    pub(super) fn new(options: &Options, columns: Vec<String>, most_record: usize) -> Self {
        let rows = Rows::new(options.form, columns.len());
        Self {
            options: options.clone(),
            columns,
            input: BytesMut::new(),
            scanned: 0,
            in_quotes: false,
            escaped: false,
            line: 0,
            begins: true,
            ends_with_return: None,
            is_over: false,
            most_record,
            rows,
        }
    }

    /// Takes bytes that have come; [`Reader::read`] takes them apart.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if !self.is_over {
            self.input.extend_from_slice(bytes);
        }
    }

    /// Counts the bytes that came and are not taken apart: the next piece may complete a record of all of them.
    pub(super) fn waiting_bytes(&self) -> usize {
        self.input.len()
    }

    /// Takes records apart: true when there are rows enough for an insert, false when more bytes must come.
    pub(super) fn read(&mut self) -> Result<bool, Failure> {
        loop {
            if self.rows.is_full() {
                return Ok(true);
            }
            if self.is_over {
                self.input.clear();
                return Ok(false);
            }
            let is_read = match self.options.form {
                Form::Binary => self.binary_record()?,
                _ => self.text_record()?,
            };
            if !is_read {
                if self.input.len() > self.most_record {
                    let why = format!(
                        "line {}: a row has more than the {} bytes allowed here; raise postgres.message_bytes, or look for a quote that is not closed",
                        self.line + 1,
                        self.most_record
                    );
                    return Err(Failure::error("54000", why));
                }
                return Ok(false);
            }
        }
    }

    /// Takes the last record apart: nothing more comes. As [`Reader::read`], to be called until it is false.
    pub(super) fn finish(&mut self) -> Result<bool, Failure> {
        if self.read()? {
            return Ok(true);
        }
        if self.is_over || self.input.is_empty() {
            if self.options.form == Form::Binary && self.begins {
                return Err(Failure::error("22P04", "COPY file signature not recognized"));
            }
            return Ok(false);
        }
        if self.options.form == Form::Binary {
            return Err(Failure::error(
                "22P04",
                format!("row {}: the data ends within a row", self.line + 1),
            ));
        }
        if self.in_quotes {
            return Err(Failure::error(
                "22P04",
                format!("line {}: unterminated CSV quoted field", self.line + 1),
            ));
        }
        let record = std::mem::take(&mut self.input).freeze();
        self.scanned = 0;
        self.is_over = true;
        self.take_line(&record)?;
        Ok(false)
    }

    /// The rows that were read, to be inserted; none remain.
    pub(super) fn take(&mut self) -> Rows {
        std::mem::replace(&mut self.rows, Rows::new(self.options.form, self.columns.len()))
    }

    /// True when there are rows to insert.
    pub(super) fn has_rows(&self) -> bool {
        !self.rows.lines.is_empty()
    }

    /// Takes the next line apart; false when its end has not come.
    fn text_record(&mut self) -> Result<bool, Failure> {
        let Some(end) = self.line_end() else { return Ok(false) };
        let mut record = self.input.split_to(end + 1).freeze();
        (self.scanned, self.in_quotes, self.escaped) = (0, false, false);
        record.truncate(end);
        let has_return = record.last() == Some(&b'\r');
        if *self.ends_with_return.get_or_insert(has_return) && has_return {
            record.truncate(end - 1);
        }
        self.take_line(&record)?;
        Ok(true)
    }

    /// Where the next line ends: at an end of a line that is neither escaped nor within quotes.
    fn line_end(&mut self) -> Option<usize> {
        let Options { form, quote, escape, .. } = self.options;
        let is_csv = form == Form::Csv;
        for (at, byte) in self.input.iter().enumerate().skip(self.scanned) {
            if is_csv {
                // A quote that is escaped by itself closes and opens again.
                let escapes = self.in_quotes && *byte == escape && escape != quote;
                if *byte == quote && !self.escaped {
                    self.in_quotes = !self.in_quotes;
                }
                self.escaped = escapes && !self.escaped;
                if *byte == b'\n' && !self.in_quotes {
                    return Some(at);
                }
            } else {
                if *byte == b'\n' && !self.escaped {
                    return Some(at);
                }
                self.escaped = *byte == b'\\' && !self.escaped;
            }
        }
        self.scanned = self.input.len();
        None
    }

    fn take_line(&mut self, line: &Bytes) -> Result<(), Failure> {
        let first = self.line + 1;
        self.line += 1 + line.iter().filter(|byte| **byte == b'\n').count() as u64;
        if line.as_ref() == b"\\." {
            self.is_over = true;
            return Ok(());
        }
        let cells = match self.options.form {
            Form::Csv => self.csv_cells(line),
            _ => self.text_cells(line),
        };
        let cells = cells.map_err(|why| Failure::error("22P04", format!("line {first}: {why}")))?;
        if std::mem::replace(&mut self.begins, false) && self.options.header != Header::None {
            return self.check_header(first, cells);
        }
        self.check_count(first, cells.len())?;
        self.rows.bytes += line.len() + size_of::<u64>();
        for (at, cell) in cells.into_iter().enumerate() {
            let text = match &cell {
                None => None,
                Some(cell) => Some(self.text(first, at, cell)?),
            };
            let Cells::Texts(texts) = &mut self.rows.cells[at] else { continue };
            texts.append_option(text);
        }
        self.rows.lines.push(first);
        Ok(())
    }

    fn text<'c>(&self, line: u64, column: usize, cell: &'c [u8]) -> Result<&'c str, Failure> {
        let place = || format!("line {line}, column {:?}", self.columns[column]);
        let text = std::str::from_utf8(cell)
            .map_err(|_| Failure::error("22021", format!("{}: the value is not UTF-8", place())))?;
        match text.contains('\0') {
            true => Err(Failure::error("22021", format!("{}: the value has a zero byte", place()))),
            false => Ok(text),
        }
    }

    fn check_header(&self, line: u64, cells: Vec<Option<Vec<u8>>>) -> Result<(), Failure> {
        if self.options.header != Header::Match {
            return Ok(());
        }
        self.check_count(line, cells.len())?;
        for (name, cell) in self.columns.iter().zip(cells) {
            if cell.as_deref() != Some(name.as_bytes()) {
                let found = cell.map_or("NULL".into(), |cell| String::from_utf8_lossy(&cell).into_owned());
                let why = format!("line {line}: the header names {found:?} where column {name:?} is");
                return Err(Failure::error("22P04", why));
            }
        }
        Ok(())
    }

    fn check_count(&self, line: u64, cells: usize) -> Result<(), Failure> {
        let why = match self.columns.get(cells) {
            Some(missing) => format!("line {line}: missing data for column {missing:?}"),
            None if cells > self.columns.len() => {
                format!("line {line}: extra data after last expected column")
            }
            None => return Ok(()),
        };
        Err(Failure::error("22P04", why))
    }

    /// Reads the cells of a line of the text format, up to one more than there are columns: a line of delimiters alone would take
    /// sixty times its bytes.
    fn text_cells(&self, line: &[u8]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let Options { delimiter, null, .. } = &self.options;
        let (mut cells, mut cell, mut begin, mut at) = (Vec::new(), Vec::new(), 0, 0);
        loop {
            match line.get(at) {
                Some(byte) if byte != delimiter => {
                    at += 1;
                    match byte {
                        b'\r' => {
                            return Err("literal carriage return found in data; write it as \\r".to_owned());
                        }
                        b'\\' => {
                            let (byte, taken) = escaped(&line[at..]);
                            cell.push(byte);
                            at += taken;
                        }
                        byte => cell.push(*byte),
                    }
                }
                end => {
                    let is_null = line[begin..at] == *null.as_bytes();
                    let value = std::mem::take(&mut cell);
                    cells.push((!is_null).then_some(value));
                    if end.is_none() || cells.len() > self.columns.len() {
                        return Ok(cells);
                    }
                    at += 1;
                    begin = at;
                }
            }
        }
    }

    /// Reads the cells of a line of the CSV format, as many as [`Reader::text_cells`] does.
    fn csv_cells(&self, line: &[u8]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let Options { delimiter, quote, escape, null, .. } = &self.options;
        let (mut cells, mut cell, mut at) = (Vec::new(), Vec::new(), 0);
        let (mut within, mut was_quoted) = (false, false);
        loop {
            match line.get(at) {
                None if within => return Err("unterminated CSV quoted field".to_owned()),
                Some(byte) if within => {
                    at += 1;
                    let next = line.get(at);
                    if byte == escape && next.is_some_and(|next| next == quote || next == escape) {
                        cell.extend(next);
                        at += 1;
                    } else if byte == quote {
                        within = false;
                    } else {
                        cell.push(*byte);
                    }
                }
                Some(byte) if byte == quote => {
                    at += 1;
                    (within, was_quoted) = (true, true);
                }
                Some(b'\r') => {
                    return Err("unquoted carriage return found in data; quote the value, or end all lines as the first one ends".to_owned());
                }
                Some(byte) if byte != delimiter => {
                    at += 1;
                    cell.push(*byte);
                }
                end => {
                    let name = self.columns.get(cells.len()).map_or("", String::as_str);
                    let is_null = cell == null.as_bytes()
                        && match was_quoted {
                            true => self.options.force_null.has(name),
                            false => !self.options.force_not_null.has(name),
                        };
                    let value = std::mem::take(&mut cell);
                    cells.push((!is_null).then_some(value));
                    if end.is_none() || cells.len() > self.columns.len() {
                        return Ok(cells);
                    }
                    at += 1;
                    was_quoted = false;
                }
            }
        }
    }

    /// Takes the next row of the binary format; false when its end has not come.
    fn binary_record(&mut self) -> Result<bool, Failure> {
        if self.begins {
            let Some(length) = self.binary_begin()? else { return Ok(false) };
            self.input.advance(length);
            self.begins = false;
        }
        let broken =
            |line: u64| Failure::error("22P04", format!("row {line}: the length of a value cannot be"));
        let line = self.line + 1;
        let mut rest = self.input.as_ref();
        let Ok(count) = rest.try_get_i16() else { return Ok(false) };
        if count == -1 {
            self.is_over = true;
            return Ok(true);
        }
        let count = usize::try_from(count).map_err(|_| broken(line))?;
        self.check_count(line, count)?;
        let mut lengths = Vec::with_capacity(count);
        for _ in 0..count {
            let Ok(length) = rest.try_get_i32() else { return Ok(false) };
            let length = match length {
                -1 => None,
                length => Some(usize::try_from(length).map_err(|_| broken(line))?),
            };
            let bytes = length.unwrap_or(0);
            if bytes > self.most_record {
                return Err(Failure::error(
                    "54000",
                    format!("row {line}: a value has {bytes} bytes, too many"),
                ));
            }
            if rest.len() < bytes {
                return Ok(false);
            }
            rest.advance(bytes);
            lengths.push(length);
        }
        let taken = self.input.len() - rest.len();
        // A copy of its own: the cells outlive the buffer, which would be kept by the smallest of them.
        let mut record = Bytes::copy_from_slice(&self.input[..taken]);
        self.input.advance(taken);
        record.advance(2);
        for (cells, length) in self.rows.cells.iter_mut().zip(lengths) {
            record.advance(4);
            let value = length.map(|length| record.split_to(length));
            if let Cells::Binary(values) = cells {
                values.push(value);
            }
        }
        self.line = line;
        self.rows.lines.push(line);
        self.rows.bytes += taken + count * size_of::<Option<Bytes>>();
        Ok(true)
    }

    /// The length of what the binary format begins with; `None` when it has not all come.
    fn binary_begin(&self) -> Result<Option<usize>, Failure> {
        let wrong = |why: &'static str| Failure::error("22P04", why);
        let common = self.input.len().min(SIGNATURE.len());
        if self.input[..common] != SIGNATURE[..common] {
            return Err(wrong("COPY file signature not recognized"));
        }
        let Some(mut rest) = self.input.get(SIGNATURE.len()..SIGNATURE.len() + 8) else { return Ok(None) };
        if rest.get_u32() & CRITICAL != 0 {
            return Err(wrong("unrecognized critical flags in COPY file header"));
        }
        let extension = usize::try_from(rest.get_i32()).map_err(|_| wrong("invalid COPY file header"))?;
        if extension > self.most_record {
            return Err(wrong("invalid COPY file header"));
        }
        let length = SIGNATURE.len() + 8 + extension;
        Ok((self.input.len() >= length).then_some(length))
    }
}

/// The byte that an escape means, and how many bytes behind the backslash say so.
fn escaped(rest: &[u8]) -> (u8, usize) {
    let octal = |byte: &&u8| matches!(byte, b'0'..=b'7');
    match rest {
        [] => (b'\\', 0),
        [b'b', ..] => (8, 1),
        [b'f', ..] => (12, 1),
        [b'n', ..] => (b'\n', 1),
        [b'r', ..] => (b'\r', 1),
        [b't', ..] => (b'\t', 1),
        [b'v', ..] => (11, 1),
        [b'0'..=b'7', ..] => {
            let digits = rest.iter().take(3).take_while(octal).count();
            let value = rest[..digits].iter().fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
            (value as u8, digits)
        }
        [b'x', digits @ ..] => {
            let count = digits.iter().take(2).take_while(|digit| digit.is_ascii_hexdigit()).count();
            let number =
                std::str::from_utf8(&digits[..count]).ok().and_then(|text| u8::from_str_radix(text, 16).ok());
            number.map_or((b'x', 1), |number| (number, 1 + count))
        }
        [other, ..] => (*other, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::super::statement::Copy;
    use super::*;

    /// The rows that a `COPY` with these options makes of bytes that come in pieces of so many.
    fn read(options: &str, bytes: &[u8], piece: usize) -> Result<Vec<Vec<Option<String>>>, Failure> {
        let Ok(copy) = Copy::read(&format!("COPY t FROM STDIN {options}")).unwrap() else {
            panic!("{options}")
        };
        let mut reader = Reader::new(&copy.options, vec!["a".into(), "b".into()], 1_000);
        for piece in bytes.chunks(piece) {
            reader.push(piece);
            assert!(!reader.read()?);
        }
        assert!(!reader.finish()?);
        let rows = reader.take();
        let count = rows.lines.len();
        let columns: Vec<Vec<Option<String>>> = rows
            .cells
            .into_iter()
            .map(|cells| match cells.into_texts() {
                Ok(texts) => texts.iter().map(|text| text.map(str::to_owned)).collect(),
                Err(values) => values
                    .into_iter()
                    .map(|value| value.map(|value| String::from_utf8_lossy(&value).into_owned()))
                    .collect(),
            })
            .collect();
        assert!(columns.iter().all(|column| column.len() == count));
        Ok((0..count).map(|row| columns.iter().map(|column| column[row].clone()).collect()).collect())
    }

    fn said(rows: Vec<Vec<Option<String>>>) -> Vec<String> {
        let cell = |cell: Option<String>| cell.map_or("NULL".to_owned(), |text| format!("{text:?}"));
        rows.into_iter().map(|row| row.into_iter().map(cell).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn rows_are_the_same_however_they_are_cut() {
        let text = b"1\tone\\ttwo\\\\\n\\N\t\\x41\\101\\\nz\n2\t\n\\.\nignored";
        let csv = b"1,\"a,\"\"b\"\"\nc\"\r\n,\"\"\r\nx,\"y\"z";
        let mut binary = super::SIGNATURE.to_vec();
        binary.extend([0, 0, 0, 0, 0, 0, 0, 2, 7, 7, 0, 2, 0, 0, 0, 1, b'a', 255, 255, 255, 255]);
        binary.extend([0, 2, 0, 0, 0, 0, 0, 0, 0, 2, b'b', b'c', 255, 255]);
        for piece in 1..60 {
            assert_eq!(
                said(read("", text, piece).unwrap()),
                [r#""1" "one\ttwo\\""#, r#"NULL "AA\nz""#, r#""2" """#],
                "{piece}"
            );
            assert_eq!(
                said(read("CSV", csv, piece).unwrap()),
                [r#""1" "a,\"b\"\nc""#, r#"NULL """#, r#""x" "yz""#],
                "{piece}"
            );
            assert_eq!(
                said(read("BINARY", &binary, piece).unwrap()),
                [r#""a" NULL"#, r#""" "bc""#],
                "{piece}"
            );
        }
    }

    #[test]
    fn options_say_how_rows_look() {
        let rows = |options: &str, bytes: &str| said(read(options, bytes.as_bytes(), 7).unwrap());
        assert_eq!(rows("CSV HEADER", "x,y,z\n1,2\n"), [r#""1" "2""#]);
        assert_eq!(rows("(FORMAT csv, HEADER match)", "a,b\n1,2\n"), [r#""1" "2""#]);
        assert_eq!(rows("CSV NULL 'none' FORCE NULL a", "\"none\",\"none\"\n"), [r#"NULL "none""#]);
        assert_eq!(rows("CSV FORCE NOT NULL b", ",\n"), [r#"NULL """#]);
        assert_eq!(rows("CSV QUOTE '''' ESCAPE '\\' DELIMITER ';'", "'a\\'b\\\\;';c\n"), [r#""a'b\\;" "c""#]);
        assert_eq!(rows("DELIMITER '|' NULL ''", "a|\n"), [r#""a" NULL"#]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (options, bytes, code, part) in [
            ("", &b"1\t2\n3\n"[..], "22P04", "line 2: missing data for column \"b\""),
            ("", b"1\t2\t3\n", "22P04", "line 1: extra data"),
            ("", b"1\t\xff\n", "22021", "line 1, column \"b\""),
            ("CSV", b"1,\"2\n3\n", "22P04", "line 1: unterminated"),
            ("CSV", b"\"1\n\n\",2\n3\n", "22P04", "line 4: missing"),
            ("(FORMAT csv, HEADER match)", b"a,c\n", "22P04", "\"c\""),
            ("BINARY", b"PGCOPY\n\0", "22P04", "signature"),
            ("BINARY", b"", "22P04", "signature"),
            ("BINARY", b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x02\0\0\0\x09a", "22P04", "within a row"),
            ("BINARY", b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x02\xff\xff\xff\xfea", "22P04", "length"),
            ("BINARY", b"PGCOPY\n\xff\r\n\0\0\x01\0\0\0\0\0\0", "22P04", "flags"),
        ] {
            let wrong = read(options, bytes, 3).unwrap_err();
            assert!(wrong.code == code && wrong.message.contains(part), "{options}: {wrong:?}");
        }
        let endless = [b'x'; 2_000];
        assert_eq!(read("CSV", &endless, 100).unwrap_err().code, "54000");
    }

    /// A record of 16 MiB of commas became 16 million cells before they were counted.
    #[test]
    fn cells_beyond_the_columns_are_not_read() {
        let reader = |options: &str| {
            let Ok(copy) = Copy::read(&format!("COPY t FROM STDIN {options}")).unwrap() else { panic!() };
            Reader::new(&copy.options, vec!["a".into(), "b".into()], 10_000)
        };
        assert_eq!(reader("CSV").csv_cells(&[b','; 5_000]).unwrap().len(), 3);
        assert_eq!(reader("").text_cells(&[b'\t'; 5_000]).unwrap().len(), 3);
        for (options, delimiter) in [("CSV", ","), ("", "\t"), ("(FORMAT csv, HEADER match)", ",")] {
            let wrong = read(options, delimiter.repeat(900).as_bytes(), 100).unwrap_err();
            assert!(wrong.code == "22P04" && wrong.message.contains("line 1: extra data"), "{wrong:?}");
        }
        let header = format!("{}\n1,2\n", ",".repeat(900));
        assert_eq!(said(read("CSV HEADER", header.as_bytes(), 100).unwrap()), [r#""1" "2""#]);
    }

    /// The carriage return of a line that ended otherwise than the first one became the end of its last value.
    #[test]
    fn a_carriage_return_in_csv_is_quoted_or_refused() {
        for (bytes, line) in [
            ("1,2\n3,4\r\n", "line 2"),
            ("1,2\r\n3\r,4\r\n", "line 2"),
            ("1,\"2\"\r\r\n", "line 1"),
            ("1,2\r3,4\r", "line 1"),
            ("1,2\r\n3,4\r", "line 2"),
        ] {
            for piece in [1, 100] {
                let wrong = read("CSV", bytes.as_bytes(), piece).unwrap_err();
                assert!(wrong.code == "22P04" && wrong.message.starts_with(line), "{bytes:?}: {wrong:?}");
                assert!(
                    wrong.message.contains("unquoted carriage return found in data"),
                    "{bytes:?}: {wrong:?}"
                );
            }
        }
        assert_eq!(said(read("CSV", b"1,\"2\r\n3\r\"\n", 3).unwrap()), [r#""1" "2\r\n3\r""#]);
    }
}
