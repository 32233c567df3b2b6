//! The list of everything that a database has: one small file, replaced as a whole by every change.

use super::error::DatabaseError;
use flate2::Crc;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The first words of the file, before its checksum.
const HEADER: &str = "filbert database 1";

/// Everything that a database has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    /// The schemas beside `public`.
    pub(super) schemas: Vec<String>,
    pub(super) relations: Vec<Relation>,
    pub(super) segments: Vec<Segment>,
}

/// A table or a view.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Relation {
    pub(super) schema: String,
    pub(super) name: String,
    /// The statement that made it; none for a table whose columns a query gave.
    pub(super) definition: Option<String>,
    /// The rows of a table in memory; none for a view and a table of files.
    pub(super) rows: Option<Rows>,
}

/// The rows of a table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Rows {
    /// An Arrow stream without batches, in hexadecimal digits.
    pub(super) columns: String,
    /// The places of the batches of each partition, in order.
    pub(super) partitions: Vec<Vec<Run>>,
    /// The next numbers of the columns that number their rows.
    pub(super) serials: Vec<i64>,
}

/// Batches that follow each other in one segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) segment: u64,
    pub(super) first: usize,
    pub(super) count: usize,
}

/// A file with batches of one schema; it is written once and never changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Segment {
    pub(super) number: u64,
    pub(super) bytes: u64,
    pub(super) checksum: u32,
    pub(super) batches: usize,
}

impl Manifest {
    /// Writes it as the bytes of a file.
    pub(super) fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let body = serde_json::to_vec(self)?;
        let mut bytes = format!("{HEADER} {:08x}\n", checksum(&body)).into_bytes();
        bytes.extend_from_slice(&body);
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Reads the bytes of a file; damage names it.
    pub(super) fn decode(bytes: &[u8], file: &Path) -> Result<Self, DatabaseError> {
        let damaged = |problem: &str| DatabaseError::damaged(file, problem);
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or_else(|| damaged("it is cut short"))?;
        let (header, body) = (String::from_utf8_lossy(&bytes[..end]), &bytes[end + 1..]);
        let Some((words, sum)) = header.rsplit_once(' ') else {
            return Err(damaged("it does not begin as the list of a database does"));
        };
        if words != HEADER && words.starts_with("filbert database ") {
            let problem = format!("a newer Filbert wrote it ({words:?}); use that one");
            return Err(DatabaseError::NotADatabase { path: file.to_owned(), problem });
        }
        let body = body.strip_suffix(b"\n").ok_or_else(|| damaged("it is cut short"))?;
        if words != HEADER || u32::from_str_radix(sum, 16).ok() != Some(checksum(body)) {
            return Err(damaged("its checksum is another one"));
        }
        serde_json::from_slice(body).map_err(|error| damaged(&format!("it cannot be read: {error}")))
    }
}

/// The CRC-32 of some bytes.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_damaged_bit_is_noticed() {
        let rows = Rows {
            columns: "00ff".to_owned(),
            partitions: vec![vec![Run { segment: 7, first: 1, count: 2 }]],
            serials: vec![4],
        };
        let relation = |name: &str, rows| Relation {
            schema: "public".to_owned(),
            name: name.to_owned(),
            definition: Some("CREATE".to_owned()),
            rows,
        };
        let manifest = Manifest {
            schemas: vec!["more".to_owned()],
            relations: vec![relation("t", Some(rows)), relation("v", None)],
            segments: vec![Segment { number: 7, bytes: 100, checksum: 5, batches: 3 }],
        };
        let bytes = manifest.encode().unwrap();
        let file = Path::new("my.db/tables.json");
        assert_eq!(Manifest::decode(&bytes, file).unwrap(), manifest);
        for cut in 0..bytes.len() {
            assert!(Manifest::decode(&bytes[..cut], file).is_err(), "{cut}");
        }
        for bit in 0..bytes.len() * 8 {
            let mut broken = bytes.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            // A checksum may be written in capital letters.
            let read = Manifest::decode(&broken, file);
            assert!(read.as_ref().map_or(true, |read| *read == manifest), "bit {bit}");
        }
    }
}
