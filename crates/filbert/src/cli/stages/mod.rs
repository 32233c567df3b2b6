//! `filbert stages`: what the stages of a member are, which settings they have, and what the rules between them are.

mod overview;
mod rules;
mod settings;

pub(super) use overview::write_counters;

use super::Outcome;
use super::settings_file;
use filbert::{Member, Shutdown};
use std::path::PathBuf;

/// The options of `filbert stages`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A TOML file with settings, to be checked and shown at work.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["settings", "rules"])]
    config: Option<PathBuf>,
    /// Every setting there is: default, range, meaning.
    #[arg(long, conflicts_with = "rules")]
    settings: bool,
    /// Which stage may submit to (s), wait for (w) and await (a) which.
    #[arg(long)]
    rules: bool,
    /// One JSON object per stage, setting or pair of stages.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let out = &mut std::io::stdout().lock();
    if arguments.settings {
        return settings::write(out, arguments.json);
    }
    if arguments.rules {
        return rules::write(out, arguments.json);
    }
    let settings = settings_file::read(arguments.config.as_deref())?;
    // With what SQL adds: pools of its own.
    let member = Member::builder().stage_settings(settings.stages).sql(settings.sql).start()?;
    let snapshot = member.stages().snapshot();
    member.shutdown(Shutdown::Cancel)?;
    overview::write(out, &snapshot, member.stages().settings(), arguments.json)
}
