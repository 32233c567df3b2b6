//! The page that `filbert top` shows: a pure function of a look, of what the user chose, and of the size of the terminal.
//!
//! The tables share the lines that there are. Each first gets its least: a header, a row, and a line that says how many
//! rows are left out. Then they take turns until no line is left. A table for which not even that is there becomes one line.

use super::keys::Key;
use super::look::Look;
use super::section::Section;
use crate::cli::text::{clipped, grouped};

/// Lines and columns of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) lines: usize,
}

impl Size {
    /// A page without a terminal: everything has room.
    pub(super) const UNBOUNDED: Self = Self { columns: usize::MAX, lines: usize::MAX };
}

/// A line of the page, and how it is emphasized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) text: String,
    pub(super) style: Style,
}

/// The emphasis of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    /// The head of the page or of a table.
    Header,
    /// The head of the table that keys scroll and sort.
    Focus,
    /// Something that somebody has to look at.
    Alert,
    /// A line about what is not shown.
    Faint,
}

/// The view that the user chose with keys.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The table that keys scroll and sort.
    focus: usize,
    /// By the number of the table.
    tables: [TableView; TABLES],
    shows_idle: bool,
    pub(super) is_paused: bool,
    shows_help: bool,
    /// Why there is no newer look.
    pub(super) trouble: Option<String>,
}

/// The choices for one table.
#[derive(Debug, Default, Clone)]
struct TableView {
    /// The first row that is shown.
    first: usize,
    /// The rows that were shown by the last page.
    shown: usize,
    /// The column that sorts; none is that of the table.
    sorted_by: Option<usize>,
}

/// Tables of a page at most.
const TABLES: usize = 5;
/// Lines of a table with a header, a row, and the number of those left out.
const LEAST: usize = 3;

const HELP: [&str; 9] = [
    "q, Ctrl-C     quit",
    "Tab, arrows   another table",
    "up, down      scroll by a row",
    "PgUp, PgDn    scroll by a page",
    "Home, End     to the begin, to the end",
    "s             sort by the next column",
    "i             show idle stages",
    "space         pause, and go on",
    "?             this help, and back",
];

impl View {
    /// Does what a key says, but for `Key::Quit`.
    pub(super) fn press(&mut self, key: Key, look: &Look) {
        let rows = look.sections.get(self.focus).map_or(0, |section| section.rows.len());
        let columns = look.sections.get(self.focus).map_or(0, |section| section.columns.len());
        let default = look.sections.get(self.focus).and_then(|section| section.sorted_by);
        let table = &mut self.tables[self.focus];
        let step = table.shown.max(1);
        match key {
            Key::Up => table.first = table.first.saturating_sub(1),
            Key::Down => table.first = (table.first + 1).min(rows),
            Key::PageUp => table.first = table.first.saturating_sub(step),
            Key::PageDown => table.first = (table.first + step).min(rows),
            Key::First => table.first = 0,
            // The page puts it right.
            Key::Last => table.first = rows,
            Key::Sort if columns > 0 => {
                let by = table.sorted_by.or(default).map_or(0, |by| (by + 1) % columns);
                (table.sorted_by, table.first) = (Some(by), 0);
            }
            Key::Next => self.move_focus(look, 1),
            Key::Previous => self.move_focus(look, TABLES - 1),
            Key::Idle => self.shows_idle = !self.shows_idle,
            Key::Pause => self.is_paused = !self.is_paused,
            Key::Help => self.shows_help = !self.shows_help,
            Key::Sort | Key::Quit => {}
        }
    }

    /// Goes to the next table that has rows.
    fn move_focus(&mut self, look: &Look, step: usize) {
        let is_shown = |at: &usize| look.sections.get(*at).is_some_and(|section| !section.rows.is_empty());
        let mut others = (1..=TABLES).map(|steps| (self.focus + steps * step) % TABLES);
        self.focus = others.find(is_shown).unwrap_or(self.focus);
    }
}

/// A table with the choices of the user carried out.
struct Prepared<'a> {
    section: &'a Section,
    number: usize,
    header: String,
    rows: Vec<Line>,
    /// The line about idle rows.
    idle: Option<String>,
}

impl<'a> Prepared<'a> {
    fn new(section: &'a Section, number: usize, view: &View, columns: usize) -> Self {
        let by = view.tables[number].sorted_by.or(section.sorted_by);
        let (shown, idle) = section.sorted(by, view.shows_idle);
        let layout = section.layout(by, &shown, columns);
        let rows = shown.iter().map(|row| {
            let style = if row.is_alert { Style::Alert } else { Style::Plain };
            Line { text: layout.row(row), style }
        });
        let names: Vec<&str> = idle.iter().map(|row| row.cells[0].text.as_str()).collect();
        let idle = (!idle.is_empty()).then(|| format!("{} idle: {}", idle.len(), names.join(", ")));
        Self { section, number, header: layout.header(), rows: rows.collect(), idle }
    }

    /// The lines that it would like to have.
    fn wish(&self) -> usize {
        1 + self.rows.len() + usize::from(self.idle.is_some())
    }

    fn write(&self, lines: usize, view: &mut View, is_live: bool, out: &mut Vec<Line>) {
        let style = if is_live && view.focus == self.number { Style::Focus } else { Style::Header };
        if lines < self.wish().min(LEAST) {
            if lines > 0 {
                let text = format!("{}: {}", self.section.name, grouped(self.section.rows.len() as u64));
                out.push(Line { text, style });
            }
            return;
        }
        out.push(Line { text: self.header.clone(), style });
        let table = &mut view.tables[self.number];
        let is_whole = lines >= self.wish();
        // A line says what is left out.
        table.shown = if is_whole { self.rows.len() } else { (lines - 2).min(self.rows.len()) };
        table.first = table.first.min(self.rows.len() - table.shown);
        out.extend(self.rows[table.first..table.first + table.shown].iter().cloned());
        let below = self.rows.len() - table.shown - table.first;
        let more = match (table.first, below) {
            (0, 0) => None,
            (0, below) => Some(format!("... and {} more", grouped(below as u64))),
            (above, below) => {
                Some(format!("... {} above, {} below", grouped(above as u64), grouped(below as u64)))
            }
        };
        let notes: Vec<String> = more.into_iter().chain(self.idle.clone()).collect();
        if !notes.is_empty() {
            out.push(Line { text: notes.join("; "), style: Style::Faint });
        }
    }
}

/// Shares lines between tables that wish for so many.
fn shared(wishes: &[usize], focus: Option<usize>, mut room: usize) -> Vec<usize> {
    let mut lines = vec![0; wishes.len()];
    let order = || focus.into_iter().chain((0..wishes.len()).filter(move |at| Some(*at) != focus));
    // One line for each, then its least, then in turns.
    for at in order() {
        let one = room.min(1);
        lines[at] += one;
        room -= one;
    }
    for at in order() {
        let least = wishes[at].min(LEAST);
        let more = least.saturating_sub(lines[at]);
        if more <= room {
            lines[at] += more;
            room -= more;
        }
    }
    let takes = |lines: &[usize], at: usize| (LEAST..wishes[at]).contains(&lines[at]);
    while room > 0 {
        let before = room;
        for at in order() {
            if room > 0 && takes(&lines, at) {
                lines[at] += 1;
                room -= 1;
            }
        }
        if room == before {
            break;
        }
    }
    lines
}

/// Joins as many parts as have room on a line; the first one is cut when even that has none.
fn joined(parts: &[impl AsRef<str>], columns: usize) -> String {
    let mut line = String::new();
    for part in parts {
        let longer = match line.is_empty() {
            true => clipped(part.as_ref(), columns),
            false => format!("{line}, {}", part.as_ref()),
        };
        if unicode_width::UnicodeWidthStr::width(longer.as_str()) > columns {
            break;
        }
        line = longer;
    }
    line
}

/// The lines of the head, and what somebody has to look at.
fn top(look: &Look, view: &View, columns: usize) -> Vec<Line> {
    let head = look.head.iter().map(|parts| joined(parts, columns));
    let head = head.zip([Style::Header, Style::Plain]).map(|(text, style)| Line { text, style });
    let alerts = view.trouble.iter().chain(&look.alerts);
    head.chain(alerts.map(|text| Line { text: text.clone(), style: Style::Alert })).collect()
}

/// Draws the page in so many lines at most, without the line of keys.
fn page(look: &Look, view: &mut View, size: Size, is_live: bool) -> Vec<Line> {
    let mut out = top(look, view, size.columns);
    let sections = look.sections.iter().enumerate().take(TABLES);
    let tables: Vec<Prepared<'_>> = sections
        .filter(|(_, section)| !section.rows.is_empty())
        .map(|(number, section)| Prepared::new(section, number, view, size.columns))
        .collect();
    // The user looks at a table that is empty by now.
    if let Some(first) = tables.first().filter(|_| tables.iter().all(|table| table.number != view.focus)) {
        view.focus = first.number;
    }
    let room = size.lines.saturating_sub(out.len());
    let wishes: Vec<usize> = tables.iter().map(Prepared::wish).collect();
    // Blank lines only where nothing gives way to them.
    let is_airy = wishes.iter().map(|wish| wish + 1).sum::<usize>() <= room;
    let focus = tables.iter().position(|table| table.number == view.focus).filter(|_| is_live);
    let lines = shared(&wishes, focus, if is_airy { room - tables.len() } else { room });
    for (table, lines) in tables.iter().zip(lines) {
        if is_airy {
            out.push(Line { text: String::new(), style: Style::Plain });
        }
        table.write(lines, view, is_live, &mut out);
    }
    out.truncate(size.lines);
    for line in &mut out {
        line.text = clipped(&line.text, size.columns);
    }
    out
}

/// Draws the page once, for a pipe or a terminal that is not taken over.
pub(super) fn once(look: &Look, columns: Option<usize>) -> Vec<Line> {
    let size = Size { columns: columns.unwrap_or(usize::MAX), ..Size::UNBOUNDED };
    page(look, &mut View { shows_idle: false, ..View::default() }, size, false)
}

/// Draws a full screen, with the keys on its last line. What the user chose is put right where the rows became fewer.
pub(super) fn screen(look: &Look, view: &mut View, size: Size) -> Vec<Line> {
    let Size { columns, lines } = size;
    let Some(above) = lines.checked_sub(1) else { return Vec::new() };
    let mut out = if view.shows_help {
        let mut out = top(look, view, columns);
        out.truncate(above.saturating_sub(HELP.len()));
        out.extend(HELP.map(|text| Line { text: clipped(text, columns), style: Style::Plain }));
        out.truncate(above);
        out
    } else {
        page(look, view, Size { columns, lines: above }, true)
    };
    for line in &mut out {
        line.text = clipped(&line.text, columns);
    }
    out.resize(above, Line { text: String::new(), style: Style::Plain });
    let focus = look.sections.get(view.focus).map_or("", |section| section.name);
    let sorts = format!("s sorts {focus}");
    let keys = ["q quits", "Tab next table", &sorts, "i idle stages", "space pauses", "? help"];
    let paused = view.is_paused.then_some("PAUSED");
    let keys: Vec<&str> = paused.into_iter().chain(keys).collect();
    out.push(Line { text: joined(&keys, columns), style: Style::Faint });
    out
}

#[cfg(test)]
mod tests;
