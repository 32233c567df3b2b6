//! A table of the page: rows that can be sorted, and columns that give way when there is no room.

use crate::cli::text::clipped;
use unicode_width::UnicodeWidthStr;

/// Columns of the terminal between two columns of a table.
const BETWEEN: usize = 2;
/// Texts are not made narrower than that before other columns are left out: the name of a row, and others.
const NAME: usize = 24;
const NARROW: usize = 12;
/// Marks the column that the rows are sorted by.
const MARK: char = '▼';

/// A table of the page.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Section {
    /// The name in the plural; the header of the first column has it in the singular.
    pub(super) name: &'static str,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    /// The column that sorts the rows unless the user chooses another; none keeps the order of the member.
    pub(super) sorted_by: Option<usize>,
}

/// A column of a table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// The column with the largest number is left out first; none is for columns that always stay.
    pub(super) leaves: Option<u8>,
}

/// The kind of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Figures, to the right, never cut; they are sorted with the largest first.
    Number,
    /// A text that is cut where there is no room.
    Text,
}

/// A row of a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Row {
    pub(super) cells: Vec<Cell>,
    /// A row about something that does nothing.
    pub(super) is_idle: bool,
    /// A row that somebody has to look at.
    pub(super) is_alert: bool,
}

/// A value of a row, as it is shown and as it is sorted.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Cell {
    pub(super) text: String,
    pub(super) value: f64,
}

impl Cell {
    /// Makes a cell of a text, without what would do something to a terminal.
    pub(super) fn text(text: &str) -> Self {
        Self { text: text.replace(|letter: char| letter.is_control(), "?"), value: 0.0 }
    }

    /// Makes a cell of a number with its text.
    pub(super) fn number(value: f64, text: String) -> Self {
        Self { text, value }
    }
}

/// The columns of a table that have room, with their widths.
#[derive(Debug)]
pub(super) struct Layout {
    slots: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    column: usize,
    header: String,
    width: usize,
    least: usize,
    kind: Kind,
}

impl Section {
    /// Returns the rows to show in their order, alerts first, and the idle ones that are left out.
    pub(super) fn sorted(&self, by: Option<usize>, shows_idle: bool) -> (Vec<&Row>, Vec<&Row>) {
        let (mut shown, idle): (Vec<&Row>, Vec<&Row>) =
            self.rows.iter().partition(|row| shows_idle || row.is_alert || !row.is_idle);
        if let Some(by) = by.filter(|by| *by < self.columns.len()) {
            match self.columns[by].kind {
                Kind::Number => {
                    shown.sort_by(|one, other| other.cells[by].value.total_cmp(&one.cells[by].value));
                }
                Kind::Text => shown.sort_by(|one, other| one.cells[by].text.cmp(&other.cells[by].text)),
            }
        }
        shown.sort_by_key(|row| !row.is_alert);
        (shown, idle)
    }

    /// Chooses columns for a terminal that is `room` wide: texts become narrow first, then columns leave.
    pub(super) fn layout(&self, by: Option<usize>, rows: &[&Row], room: usize) -> Layout {
        let slot = |(column, Column { name, kind, .. }): (usize, &Column)| {
            let mark = if by == Some(column) { MARK.to_string() } else { String::new() };
            let header = format!("{name}{mark}");
            let cells = rows.iter().map(|row| row.cells[column].text.width());
            let width = cells.chain([header.width()]).max().unwrap_or(0);
            let narrow = if column == 0 { NAME } else { NARROW };
            let least = if *kind == Kind::Text { width.min(narrow.max(header.width())) } else { width };
            Slot { column, header, width, least, kind: *kind }
        };
        let mut slots: Vec<Slot> = self.columns.iter().enumerate().map(slot).collect();
        let total = |slots: &[Slot], of: fn(&Slot) -> usize| {
            slots.iter().map(of).sum::<usize>() + BETWEEN * slots.len().saturating_sub(1)
        };
        while total(&slots, |slot| slot.least) > room {
            let leaves = slots
                .iter()
                .enumerate()
                .filter_map(|(at, slot)| self.columns[slot.column].leaves.map(|leaves| (leaves, at)));
            match leaves.max() {
                Some((_, at)) => drop(slots.remove(at)),
                None => break,
            }
        }
        // The widest text gives way first.
        let mut over = total(&slots, |slot| slot.width).saturating_sub(room);
        while over > 0 {
            let wide = slots.iter_mut().filter(|slot| slot.width > slot.least);
            let Some(widest) = wide.max_by_key(|slot| slot.width) else { break };
            widest.width -= 1;
            over -= 1;
        }
        Layout { slots }
    }
}

impl Layout {
    /// Writes the names of the columns.
    pub(super) fn header(&self) -> String {
        self.line(|slot| slot.header.as_str())
    }

    /// Writes a row below them.
    pub(super) fn row(&self, row: &Row) -> String {
        self.line(|slot| row.cells[slot.column].text.as_str())
    }

    fn line<'a>(&'a self, text: impl Fn(&'a Slot) -> &'a str) -> String {
        let mut line = String::new();
        for slot in &self.slots {
            let text = clipped(text(slot), slot.width);
            let space = " ".repeat(slot.width.saturating_sub(text.width()));
            let parts = match slot.kind {
                Kind::Number => [space.as_str(), text.as_str()],
                Kind::Text => [text.as_str(), space.as_str()],
            };
            if !line.is_empty() {
                line += &" ".repeat(BETWEEN);
            }
            line.extend(parts);
        }
        line.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section() -> Section {
        let column = |name, kind, leaves| Column { name, kind, leaves };
        let row = |name: &str, bytes: f64, is_idle, is_alert| Row {
            cells: vec![
                Cell::text(name),
                Cell::number(bytes, format!("{bytes} B")),
                Cell::text("unimportant"),
            ],
            is_idle,
            is_alert,
        };
        Section {
            name: "maps",
            columns: vec![
                column("map", Kind::Text, None),
                column("memory", Kind::Number, Some(1)),
                column("note", Kind::Text, Some(2)),
            ],
            rows: vec![
                row("a map with a very long name", 5.0, false, false),
                row("b\u{1b}[2J", 70.0, false, false),
                row("idle", 9.0, true, false),
                row("damaged", 1.0, true, true),
            ],
            sorted_by: Some(1),
        }
    }

    fn names(rows: &[&Row]) -> Vec<String> {
        rows.iter().map(|row| row.cells[0].text.clone()).collect()
    }

    #[test]
    fn rows_are_sorted_and_idle_ones_folded_but_no_alert() {
        let section = section();
        let (shown, idle) = section.sorted(Some(1), false);
        assert_eq!(names(&shown), ["damaged", "b?[2J", "a map with a very long name"]);
        assert_eq!(names(&idle), ["idle"]);
        let (by_name, idle) = section.sorted(Some(0), true);
        assert_eq!(names(&by_name), ["damaged", "a map with a very long name", "b?[2J", "idle"]);
        assert!(idle.is_empty());
        assert_eq!(section.sorted(None, false).0.len(), 3);
    }

    #[test]
    fn texts_become_narrow_before_columns_leave() {
        let section = section();
        let (rows, _) = section.sorted(Some(1), false);
        let lines = |room| {
            let layout = section.layout(Some(1), &rows, room);
            [layout.header(), layout.row(rows[2])]
        };
        assert_eq!(lines(80)[0], "map                          memory▼  note");
        assert_eq!(lines(80)[1], "a map with a very long name      5 B  unimportant");
        assert_eq!(lines(46)[0], "map                       memory▼  note");
        assert_eq!(lines(46)[1], "a map with a very long …      5 B  unimportant");
        assert_eq!(lines(34)[1], "a map with a very long n…      5 B");
        assert_eq!(lines(24), ["map", "a map with a very long …"]);
    }
}
