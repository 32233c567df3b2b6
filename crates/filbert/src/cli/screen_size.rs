//! The size of the terminal that the standard output is.

/// Returns letters of a line, and lines; none when the standard output is no terminal.
#[cfg(feature = "shell")]
pub(super) fn screen_size() -> Option<(usize, usize)> {
    use rustyline::history::MemHistory;
    use rustyline::{Config, Editor};
    // The editor asks the system, for which this crate would need unsafe code.
    let mut editor = Editor::<(), MemHistory>::with_history(Config::default(), MemHistory::new()).ok()?;
    let (columns, lines) = editor.dimensions()?;
    Some((columns.into(), lines.into()))
}

/// Returns what the shell above says of its terminal, or the size that every terminal has at first.
#[cfg(not(feature = "shell"))]
pub(super) fn screen_size() -> Option<(usize, usize)> {
    use std::io::IsTerminal;
    let said = |name: &str, size: usize| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).filter(|size| *size > 0).unwrap_or(size)
    };
    std::io::stdout().is_terminal().then(|| (said("COLUMNS", 80), said("LINES", 24)))
}
