//! Options and arguments that commands on structures share.

use super::super::form::Form;
use filbert_wire::Data;

/// A structure.
#[derive(Debug, clap::Args)]
pub(super) struct Named {
    /// The name.
    pub(super) name: String,
}

/// A structure, and a value.
#[derive(Debug, clap::Args)]
pub(super) struct WithValue {
    /// The name.
    pub(super) name: String,
    /// The value; it may begin with a hyphen.
    #[arg(allow_hyphen_values = true)]
    pub(super) value: String,
}

/// The options of all verbs of a structure that holds values.
#[derive(Debug, clap::Args)]
pub(super) struct Options {
    /// How values on the command line are meant.
    #[arg(long, value_enum, value_name = "FORM", default_value_t, global = true)]
    pub(super) value_as: Form,
    /// JSON: one object per line.
    #[arg(long, global = true)]
    pub(super) json: bool,
}

impl Options {
    /// Reads a value of the command line.
    pub(super) fn value(&self, text: &str) -> Result<Data, String> {
        self.value_as.read("value", text)
    }
}
