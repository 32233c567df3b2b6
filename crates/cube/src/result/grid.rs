//! A table as text: coordinates to the left, then groups of measures, each below a head if there are several in it.
//!
//! ```text
//!          EUR               USD              heads: the values that stand side by side
//! desk        pnl  share        pnl  share
//! -----    ------  -----     ------  -----
//! FX         1.5    7.5%       3.25     8%   numbers with their points below each other
//! ```
//!
//! If lines are longer than the terminal, groups are left out before the last one, which is the total if there is one.

use super::layout::TableText;

/// Letters between two columns, and between two groups with heads.
const BETWEEN: usize = 2;
const BETWEEN_GROUPS: usize = 4;

/// Stands for what has no room.
const LEFT_OUT: &str = "…";

/// A column, as it is written.
pub(super) struct Column {
    pub(super) name: String,
    pub(super) is_number: bool,
    pub(super) cells: Vec<String>,
}

/// Columns that are shown, or left out, together.
pub(super) struct Group {
    pub(super) head: Option<String>,
    pub(super) is_total: bool,
    pub(super) columns: Vec<Column>,
}

/// A table to be written.
pub(super) struct Grid {
    pub(super) keys: Vec<Column>,
    pub(super) groups: Vec<Group>,
    pub(super) rows: usize,
}

impl Column {
    /// Makes a column of numbers, whose points are below each other, or of texts.
    pub(super) fn new(name: String, is_number: bool, mut cells: Vec<String>) -> Self {
        if is_number {
            let fraction = |cell: &String| cell.find(['.', '%']).map_or(0, |at| cell.len() - at);
            let longest = cells.iter().map(fraction).max().unwrap_or(0);
            for cell in cells.iter_mut().filter(|cell| !cell.is_empty()) {
                *cell += &" ".repeat(longest - fraction(cell));
            }
        }
        Self { name, is_number, cells }
    }

    fn width(&self) -> usize {
        self.cells.iter().chain([&self.name]).map(|text| letters(text)).max().unwrap_or(0)
    }
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

/// A group that is shown, with the widths of its columns.
struct Shown<'a> {
    group: &'a Group,
    widths: Vec<usize>,
}

impl<'a> Shown<'a> {
    fn of(group: &'a Group) -> Self {
        let widths: Vec<usize> = group.columns.iter().map(Column::width).collect();
        let mut shown = Self { group, widths };
        let of_head = group.head.as_deref().map_or(0, letters);
        let more = of_head.saturating_sub(shown.width());
        if let Some(first) = shown.widths.first_mut() {
            *first += more;
        }
        shown
    }

    fn width(&self) -> usize {
        self.widths.iter().sum::<usize>() + BETWEEN * self.widths.len().saturating_sub(1)
    }

    /// Joins what `text` makes of each column and its width.
    fn joined(&self, text: impl Fn(&Column, usize) -> String) -> String {
        let parts = self.group.columns.iter().zip(&self.widths).map(|(column, width)| text(column, *width));
        parts.collect::<Vec<_>>().join(&" ".repeat(BETWEEN))
    }
}

/// The groups that have room.
struct Lines<'a> {
    keys: &'a [Column],
    widths: Vec<usize>,
    groups: Vec<Shown<'a>>,
    /// The position before which groups are left out.
    gap: Option<usize>,
    between: usize,
}

impl Grid {
    /// Writes all lines; with a bound, as many groups as have room, and one at least.
    pub(super) fn table(&self, room: Option<usize>) -> TableText {
        let has_heads = self.groups.iter().any(|group| group.head.is_some());
        let mut lines = Lines {
            keys: &self.keys,
            widths: self.keys.iter().map(Column::width).collect(),
            groups: self.groups.iter().map(Shown::of).collect(),
            gap: None,
            between: if has_heads { BETWEEN_GROUPS } else { BETWEEN },
        };
        if let Some(room) = room {
            lines.fit(room);
        }
        let mut text = String::new();
        let mut write = |line: String| {
            text += line.trim_end();
            text.push('\n');
        };
        if has_heads {
            let head = |shown: &Shown<'_>| {
                format!("{:<width$}", shown.group.head.as_deref().unwrap_or_default(), width = shown.width())
            };
            write(lines.line(|_, width| " ".repeat(width), head, LEFT_OUT));
        }
        write(lines.columns(|column| &column.name, if has_heads { "" } else { LEFT_OUT }));
        let rule = |_: &Column, width: usize| "-".repeat(width);
        write(lines.line(rule, |shown| shown.joined(rule), "-"));
        for row in 0..self.rows {
            write(lines.columns(|column| &column.cells[row], ""));
        }
        if self.rows == 0 {
            text += "(0 rows)\n";
        }
        let columns = self.groups.iter().map(|group| group.columns.len()).sum();
        let shown: usize = lines.groups.iter().map(|shown| shown.widths.len()).sum();
        TableText { text, columns, left_out: columns - shown }
    }
}

impl Lines<'_> {
    /// Leaves out groups until a line has room.
    fn fit(&mut self, room: usize) {
        while self.width() > room && self.groups.len() > 1 {
            let has_total = self.groups.last().is_some_and(|shown| shown.group.is_total);
            // Beside a total, one value at least.
            let last = self.groups.len() - 1;
            let next = if has_total && last > 1 { last - 1 } else { last };
            self.groups.remove(next);
            self.gap = Some(next);
        }
    }

    fn width(&self) -> usize {
        self.line(|_, width| " ".repeat(width), |shown| " ".repeat(shown.width()), "-").chars().count()
    }

    /// Joins columns, names or cells of a row: texts to the left, numbers to the right.
    fn columns(&self, text: impl Fn(&Column) -> &String, left_out: &str) -> String {
        let cell = |column: &Column, width: usize| match column.is_number {
            true => format!("{:>width$}", text(column)),
            false => format!("{:<width$}", text(column)),
        };
        self.line(cell, |shown| shown.joined(cell), left_out)
    }

    /// Joins the parts of a line; `key` gets the column and its width.
    fn line(
        &self,
        key: impl Fn(&Column, usize) -> String,
        group: impl Fn(&Shown<'_>) -> String,
        left_out: &str,
    ) -> String {
        let keys: Vec<String> =
            self.keys.iter().zip(&self.widths).map(|(column, width)| key(column, *width)).collect();
        let mut line = keys.join(&" ".repeat(BETWEEN));
        let gap = " ".repeat(self.between);
        for number in 0..=self.groups.len() {
            if self.gap == Some(number) {
                line += &format!("{gap}{left_out:<1}");
            }
            if let Some(shown) = self.groups.get(number) {
                if number > 0 || !self.keys.is_empty() {
                    line += &gap;
                }
                line += &group(shown);
            }
        }
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(name: &str, cells: &[&str]) -> Column {
        Column::new(name.to_owned(), true, cells.iter().map(|cell| (*cell).to_owned()).collect())
    }

    fn desks() -> Column {
        Column::new("desk".to_owned(), false, vec!["FX".to_owned(), "Rates".to_owned()])
    }

    fn group(head: &str, columns: Vec<Column>) -> Group {
        let is_total = head == "*";
        Group { head: (columns.len() > 1).then(|| head.to_owned()), is_total, columns }
    }

    fn pivot(heads: &[&str]) -> Grid {
        let columns = || vec![numbers("pnl", &["1.5", "-12.25"]), numbers("share", &["7.5%", ""])];
        let groups = heads.iter().map(|head| group(head, columns())).collect();
        Grid { keys: vec![desks()], groups, rows: 2 }
    }

    #[test]
    fn heads_stand_above_their_measures_and_points_below_each_other() {
        let expected = "
         EUR              a long head
desk        pnl  share       pnl  share
-----    ------  -----    ------  -----
FX         1.5    7.5%      1.5    7.5%
Rates    -12.25           -12.25
";
        let table = pivot(&["EUR", "a long head"]).table(None);
        assert_eq!(format!("\n{}", table.text), expected);
        assert_eq!((table.columns, table.left_out), (4, 0));
    }

    #[test]
    fn what_has_no_room_is_left_out_before_the_total() {
        let grid = pivot(&["EUR", "JPY", "USD", "*"]);
        let whole = grid.table(None);
        let width = whole.text.lines().map(letters).max().unwrap_or(0);
        assert_eq!(grid.table(Some(width)), whole);
        for (room, left_out, heads) in [
            (0, 6, "EUR …"),
            (43, 6, "EUR …"),
            (44, 4, "EUR … *"),
            (61, 2, "EUR JPY … *"),
            (72, 2, "EUR JPY … *"),
        ] {
            let table = grid.table(Some(room));
            let longest = table.text.lines().map(letters).max().unwrap_or(0);
            assert!(longest <= room || room == 0, "{room}: {}", table.text);
            let shown = table.text.lines().next().unwrap_or_default().split_whitespace();
            assert_eq!(
                (table.left_out, shown.collect::<Vec<_>>().join(" ").as_str()),
                (left_out, heads),
                "{room}"
            );
        }
    }

    #[test]
    fn an_empty_table_says_so() {
        let grid = Grid { keys: Vec::new(), groups: vec![group("", vec![numbers("pnl", &[])])], rows: 0 };
        assert_eq!(grid.table(None).text, "pnl\n---\n(0 rows)\n");
    }
}
