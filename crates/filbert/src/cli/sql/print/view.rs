//! How rows are shown on a terminal.

/// Rows that are shown of a longer result, unless the user says otherwise.
pub(in crate::cli) const ROWS: usize = 40;

/// A view of a result: the room there is, and what the user asked to see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::cli) struct View {
    /// Letters of a line; none where a line may have any length.
    pub(in crate::cli) width: Option<usize>,
    /// Rows that are shown of a longer result; none for all of them.
    pub(in crate::cli) rows: Option<usize>,
    pub(in crate::cli) expanded: Expanded,
    pub(in crate::cli) paint: Paint,
}

/// A choice between a line for each row and a line for each value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::cli) enum Expanded {
    /// A line for each row.
    #[default]
    Off,
    /// A line for each value.
    On,
    /// A line for each value where a row has no room on a line.
    Auto,
}

impl std::fmt::Display for Expanded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Expanded::Off => "off",
            Expanded::On => "on",
            Expanded::Auto => "auto",
        })
    }
}

/// Colours, or none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::cli) struct Paint {
    is_on: bool,
}

impl Paint {
    /// No colours.
    #[cfg(test)]
    pub(super) const NONE: Self = Self { is_on: false };

    /// Makes colours for a terminal that wants them: <https://no-color.org>.
    pub(in crate::cli) fn of_terminal(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> Self {
        let refused = variable("NO_COLOR").is_some_and(|value| !value.is_empty())
            || variable("TERM").is_none_or(|terminal| terminal == "dumb");
        Self { is_on: is_terminal && !refused }
    }

    pub(in crate::cli) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(in crate::cli) fn faint(self, text: &str) -> String {
        self.with("2", text)
    }

    pub(in crate::cli) fn inverse(self, text: &str) -> String {
        self.with("7", text)
    }

    /// Bold and red.
    pub(in crate::cli) fn alarming(self, text: &str) -> String {
        self.with("1;31", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.is_on && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        let of = |is_terminal, refused: Option<&str>, terminal: &str| {
            let said = |name: &str| match name {
                "NO_COLOR" => refused.map(str::to_owned),
                _ => Some(terminal.to_owned()),
            };
            Paint::of_terminal(is_terminal, said).bold("a")
        };
        assert_eq!(of(true, None, "xterm"), "\x1b[1ma\x1b[0m");
        assert_eq!(of(true, Some(""), "xterm"), "\x1b[1ma\x1b[0m");
        for plain in [of(false, None, "xterm"), of(true, Some("1"), "xterm"), of(true, None, "dumb")] {
            assert_eq!(plain, "a");
        }
    }
}
