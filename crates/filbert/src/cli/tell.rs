//! What is said on the standard error.

use std::fmt::Display;
use std::io::Write;

/// Says a line there. Where it cannot be heard, on a full disk or in a closed pipe, it is lost and nothing else is: the macro of the standard
/// library would end the command.
pub(super) fn tell(line: impl Display) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}
