//! Tables that line up.

use std::io::{self, Write};
use unicode_width::UnicodeWidthStr;

/// Rows of text under a header; numbers to the right. A cell may have several lines.
pub(super) struct Table {
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    /// Which columns are numbers; found by looking at the cells where nobody says.
    right: Option<Vec<bool>>,
}

/// How wide the columns of a table are, and which go to the right.
pub(super) struct Layout {
    widths: Vec<usize>,
    right: Vec<bool>,
}

impl Table {
    pub(super) fn new(header: &[&str]) -> Self {
        Self { header: header.iter().map(|name| (*name).to_owned()).collect(), rows: Vec::new(), right: None }
    }

    /// With a line below the header; `right` says which columns are numbers.
    pub(super) fn ruled(header: Vec<String>, right: Vec<bool>) -> Self {
        Self { header, rows: Vec::new(), right: Some(right) }
    }

    pub(super) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// How many rows it has.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Writes the table, each line after `indent`.
    pub(super) fn write(&self, out: &mut impl Write, indent: &str) -> io::Result<()> {
        self.begin(out, indent).map(drop)
    }

    /// The same; further rows can be written in the same columns.
    pub(super) fn begin(&self, out: &mut (impl Write + ?Sized), indent: &str) -> io::Result<Layout> {
        let layout = self.layout();
        layout.write_row(out, indent, &self.header)?;
        if self.right.is_some() {
            let rules: Vec<String> = layout.widths.iter().map(|width| "-".repeat(*width)).collect();
            layout.write_row(out, indent, &rules)?;
        }
        for row in &self.rows {
            layout.write_row(out, indent, row)?;
        }
        Ok(layout)
    }

    fn layout(&self) -> Layout {
        let columns = self.header.len();
        let wide = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let lines = cells.chain([&self.header[column]]).flat_map(|cell| cell.lines());
            lines.map(UnicodeWidthStr::width).max().unwrap_or(0)
        };
        let numeric = |column: usize| {
            let mut cells = self
                .rows
                .iter()
                .filter_map(|row| row.get(column))
                .filter(|cell| !["-", ""].contains(&cell.as_str()))
                .peekable();
            cells.peek().is_some() && cells.all(|cell| cell.starts_with(|first: char| first.is_ascii_digit()))
        };
        let right = self.right.clone().unwrap_or_else(|| (0..columns).map(numeric).collect());
        Layout { widths: (0..columns).map(wide).collect(), right }
    }
}

impl Layout {
    /// Writes one row; what is wider than its column pushes the rest of its line.
    pub(super) fn write_row(
        &self,
        out: &mut (impl Write + ?Sized),
        indent: &str,
        cells: &[String],
    ) -> io::Result<()> {
        let lines = cells.iter().map(|cell| cell.lines().count()).max().unwrap_or(0).max(1);
        for number in 0..lines {
            let mut line = String::new();
            for (column, cell) in cells.iter().enumerate() {
                let text = cell.lines().nth(number).unwrap_or("");
                let space = " ".repeat(self.widths[column].saturating_sub(text.width()));
                let parts = if self.right[column] { [&*space, text, "  "] } else { [text, &*space, "  "] };
                line.extend(parts);
            }
            writeln!(out, "{indent}{}", line.trim_end())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(table: &Table) -> String {
        let mut out = Vec::new();
        table.write(&mut out, "").unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["stage", "threads"]);
        table.row(["io".to_owned(), "3".to_owned()]);
        table.row(["partition".to_owned(), "16".to_owned()]);
        assert_eq!(written(&table), "stage      threads\nio               3\npartition       16\n");
    }

    #[test]
    fn cells_of_several_lines_and_wide_letters_line_up() {
        let mut table = Table::ruled(vec!["n".to_owned(), "text".to_owned()], vec![true, false]);
        table.row(["-12".to_owned(), "日本\n  two".to_owned()]);
        table.row(["7".to_owned(), String::new()]);
        assert_eq!(written(&table), "  n  text\n---  -----\n-12  日本\n       two\n  7\n");
    }
}
