//! The terminal that rows are shown on, and what its user chose to see there.

use super::super::screen_size::screen_size;
use super::print::{Expanded, Paint, ROWS, View};
use std::io::{self, IsTerminal, Write};
use std::process::{Child, ChildStdin, Command, Stdio};

/// Pages through rows unless `$FILBERT_PAGER` or `$PAGER` says something else: cuts long lines, and ends by itself when all fits.
const PAGER: &str = "less -SRFX";

/// Choices that hold until they are changed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terminal {
    /// Rows that are shown of a longer result; none for all.
    pub(super) rows: Option<usize>,
    pub(super) expanded: Expanded,
    /// Whether rows go through a pager.
    pub(super) is_paged: bool,
    paint: Paint,
}

impl Terminal {
    pub(super) fn new() -> Self {
        let paint = Paint::of_terminal(io::stdout().is_terminal(), |name| std::env::var(name).ok());
        Self { rows: Some(ROWS), expanded: Expanded::Off, is_paged: false, paint }
    }

    /// The view of the next result; the window may have another size by now.
    pub(super) fn view(&self) -> View {
        let (rows, expanded, paint) = (self.rows, self.expanded, self.paint);
        let width = screen_size().map(|(width, _)| width);
        match self.is_paged {
            // A pager scrolls.
            true => View { width: None, rows: None, expanded, paint },
            false => View { width, rows, expanded, paint },
        }
    }
}

/// A program that shows what is written to it page by page.
pub(super) struct Pager {
    child: Child,
    to: Option<ChildStdin>,
}

impl Pager {
    pub(super) fn start(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let said = ["FILBERT_PAGER", "PAGER"].into_iter().filter_map(variable);
        let said = said.map(|command| command.trim().to_owned()).find(|command| !command.is_empty());
        let command = said.unwrap_or_else(|| PAGER.to_owned());
        let mut words = command.split_whitespace();
        let program = words.next().unwrap_or_default();
        let mut child = Command::new(program).args(words).stdin(Stdio::piped()).spawn().map_err(|error| {
            format!(
                "cannot start the pager {program:?}: {error}; \\pager off does without, $PAGER names another"
            )
        })?;
        let to = child.stdin.take();
        Ok(Self { child, to })
    }

    /// Waits until its user has seen enough.
    pub(super) fn end(mut self) -> io::Result<()> {
        self.to = None;
        self.child.wait().map(drop)
    }
}

impl Write for Pager {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.as_mut().map_or(Ok(bytes.len()), |to| to.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.as_mut().map_or(Ok(()), Write::flush)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pager_gets_what_is_written_and_one_that_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("seen");
        let command = format!("tee {}", file.display());
        let mut pager = Pager::start(|name| (name == "PAGER").then(|| command.clone())).unwrap();
        pager.write_all(b"rows\n").unwrap();
        pager.end().unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), "rows\n");
        let missing = Pager::start(|_| Some("no-such-pager -x".to_owned()));
        let said = missing.err().unwrap();
        assert!(said.contains("\"no-such-pager\"") && said.contains("\\pager off"), "{said}");
    }
}
