//! The line on a terminal that says how far something is.

use std::io::Write;

/// Replaces the line on the terminal. Nobody is told when that does not work: it is for looking only.
pub(super) fn show(line: &str) {
    let mut terminal = std::io::stderr().lock();
    let _ = write!(terminal, "\r\x1b[K{line}").and_then(|()| terminal.flush());
}
