//! Columns whose rows belong together, read side by side, whatever pieces each came in.

use super::Pieces;
use arrow::array::{Array, ArrayRef};
use arrow::compute::concat;
use arrow::error::ArrowError;
use std::sync::Arc;

/// Reads one column.
#[derive(Debug, Clone)]
pub(super) struct Cursor {
    pieces: Pieces,
    piece: usize,
    /// Rows of that piece that were read.
    read: usize,
}

impl Cursor {
    pub(super) fn new(pieces: Pieces) -> Self {
        let mut cursor = Self { pieces, piece: 0, read: 0 };
        cursor.skip_empty();
        cursor
    }

    /// Rows that are left in the piece; 0 at the end.
    pub(super) fn ahead(&self) -> usize {
        self.pieces.get(self.piece).map_or(0, |piece| piece.len() - self.read)
    }

    /// The next `rows`, which need not end where a piece does.
    pub(super) fn take(&mut self, rows: usize) -> Result<ArrayRef, ArrowError> {
        let mut parts = Vec::new();
        let mut missing = rows;
        while missing > 0 {
            let rows = missing.min(self.ahead());
            if rows == 0 {
                return Err(ArrowError::ComputeError("columns of a row group differ in length".to_owned()));
            }
            parts.push(self.part(rows));
            missing -= rows;
        }
        match parts.as_slice() {
            [only] => Ok(Arc::clone(only)),
            _ => concat(&parts.iter().map(|part| &**part).collect::<Vec<&dyn Array>>()),
        }
    }

    /// Rows of this piece.
    fn part(&mut self, rows: usize) -> ArrayRef {
        let piece = &self.pieces[self.piece];
        let part = if rows == piece.len() { Arc::clone(piece) } else { piece.slice(self.read, rows) };
        self.read += rows;
        self.skip_empty();
        part
    }

    fn skip_empty(&mut self) {
        while self.pieces.get(self.piece).is_some_and(|piece| piece.len() == self.read) {
            self.piece += 1;
            self.read = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::Int64Array;
    use arrow::array::cast::AsArray;
    use arrow::datatypes::Int64Type;
    use std::ops::Range;

    fn cursor(pieces: &[Range<i64>]) -> Cursor {
        let array = |piece: &Range<i64>| Arc::new(Int64Array::from_iter_values(piece.clone())) as ArrayRef;
        Cursor::new(pieces.iter().map(array).collect())
    }

    fn numbers(array: &ArrayRef) -> Vec<i64> {
        array.as_primitive::<Int64Type>().values().to_vec()
    }

    #[test]
    fn rows_are_taken_across_pieces() {
        let mut cursor = cursor(&[0..0, 0..3, 3..3, 3..5, 5..6]);
        assert_eq!(cursor.ahead(), 3);
        assert_eq!(numbers(&cursor.take(2).unwrap()), [0, 1]);
        assert_eq!(numbers(&cursor.take(4).unwrap()), [2, 3, 4, 5]);
        assert_eq!(cursor.ahead(), 0);
        assert!(cursor.take(1).is_err());
    }

    #[test]
    fn a_whole_piece_is_not_copied() {
        let mut cursor = cursor(&[0..3, 3..5]);
        let pieces = Arc::clone(&cursor.pieces);
        assert!(Arc::ptr_eq(&cursor.take(3).unwrap(), &pieces[0]));
        assert!(Arc::ptr_eq(&cursor.take(2).unwrap(), &pieces[1]));
    }
}
