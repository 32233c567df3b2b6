//! Rows with a line for each value, for results that are wider than the terminal.

use super::fit::Cell;
use super::view::Paint;
use unicode_width::UnicodeWidthStr;

/// Letters of the line above a row.
const RULE: usize = 30;

/// Writes a row, as which it is counted from one; further lines of a value stand below its first.
pub(super) fn record(number: u64, names: &[String], cells: &[Cell], paint: Paint) -> String {
    let wide = names.iter().map(|name| name.width()).max().unwrap_or(0);
    let title = format!("-[ {number} ]");
    let rule = "-".repeat(RULE.saturating_sub(title.width()));
    let mut text = paint.faint(&format!("{title}{rule}")) + "\n";
    for (name, cell) in names.iter().zip(cells) {
        let space = " ".repeat(wide - name.width());
        let value = match cell {
            Some(value) => value.replace('\n', &format!("\n{}", " ".repeat(wide + 2))),
            None => paint.faint("NULL"),
        };
        text += &format!("{}{space}  {value}", paint.bold(name));
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}
