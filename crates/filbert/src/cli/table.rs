//! Tables that line up.

use std::io::{self, Write};

/// Rows of text under a header; numbers to the right.
pub(super) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(header: &[&str]) -> Self {
        Self { header: header.iter().map(|name| (*name).to_owned()).collect(), rows: Vec::new() }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Writes the table, each line after `indent`.
    pub(super) fn write(&self, out: &mut impl Write, indent: &str) -> io::Result<()> {
        let columns = self.header.len();
        let wide = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.chain([&self.header[column]]).map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(wide).collect();
        let numeric = |column: usize| {
            let mut cells = self
                .rows
                .iter()
                .filter_map(|row| row.get(column))
                .filter(|cell| !["-", ""].contains(&cell.as_str()))
                .peekable();
            cells.peek().is_some() && cells.all(|cell| cell.starts_with(|first: char| first.is_ascii_digit()))
        };
        let right: Vec<bool> = (0..columns).map(numeric).collect();
        for row in [&self.header].into_iter().chain(&self.rows) {
            let mut line = String::new();
            for (column, cell) in row.iter().enumerate() {
                let width = widths[column];
                line +=
                    &if right[column] { format!("{cell:>width$}  ") } else { format!("{cell:<width$}  ") };
            }
            writeln!(out, "{indent}{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["stage", "threads"]);
        table.row(["io".to_owned(), "3".to_owned()]);
        table.row(["partition".to_owned(), "16".to_owned()]);
        let mut out = Vec::new();
        table.write(&mut out, "").unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "stage      threads\nio               3\npartition       16\n");
    }
}
