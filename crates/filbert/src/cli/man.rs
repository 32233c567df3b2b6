//! `filbert man`: the manual pages of all commands, from the help that they print.

use super::Outcome;
use clap::CommandFactory;
use std::path::PathBuf;

/// The options of `filbert man`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The folder for the pages; it is made where it is missing.
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let folder = &arguments.folder;
    let refused = |error| format!("the folder {} cannot be written: {error}", folder.display());
    std::fs::create_dir_all(folder).map_err(refused)?;
    clap_mangen::generate_to(super::Arguments::command(), folder).map_err(refused)?;
    Ok(())
}
