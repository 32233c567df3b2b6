//! The input of a prompt.

/// An input of somebody at a prompt.
pub(super) enum Input {
    /// A line, or all lines of a statement.
    Text(String),
    /// Ctrl-C: the line is given up.
    Interrupted,
    /// Ctrl-D: nothing more comes.
    End,
}
