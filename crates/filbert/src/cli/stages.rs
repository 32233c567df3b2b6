//! `filbert stages`: starts a member with the given settings, says what its stages are, and ends it.

use super::Outcome;
use super::table::Table;
use filbert::pool::{StageSnapshot, settings_table, stage_table};
use filbert::{Member, Settings, Shutdown};
use std::io::Write;
use std::path::PathBuf;

/// The options of `filbert stages`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A TOML file with settings.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Every setting there is: default, range, meaning.
    #[arg(long, conflicts_with = "rules")]
    settings: bool,
    /// Which stage may submit to (s), wait for (w) and await (a) which.
    #[arg(long)]
    rules: bool,
    /// One JSON object per stage.
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let mut out = std::io::stdout().lock();
    if arguments.settings {
        return write_settings(&mut out, arguments.json);
    }
    if arguments.rules {
        write!(out, "{}", stage_table())?;
        return Ok(());
    }
    let settings = match &arguments.config {
        None => Settings::new(),
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| format!("cannot read the settings file {}: {error}", path.display()))?;
            Settings::from_toml(&text).map_err(|error| format!("{}: {error}", path.display()))?
        }
    };
    let member = Member::builder().settings(settings).start()?;
    let snapshot = member.stages().snapshot();
    member.shutdown(Shutdown::Cancel)?;
    if arguments.json {
        for stage in &snapshot {
            writeln!(out, "{}", serde_json::to_string(stage)?)?;
        }
        return Ok(());
    }
    write_snapshot(&mut out, &snapshot, "")?;
    Ok(())
}

/// The stages as a table; what they counted too, once they have worked.
pub(super) fn write_snapshot(
    out: &mut impl Write,
    stages: &[StageSnapshot],
    indent: &str,
) -> std::io::Result<()> {
    let header = [
        "stage",
        "mechanism",
        "threads",
        "capacity",
        "queued",
        "executed",
        "stolen",
        "refused",
        "dropped",
        "slow",
    ];
    let mut table = Table::new(&header);
    for stage in stages {
        table.row([
            stage.stage.to_owned(),
            stage.mechanism.to_owned(),
            threads(stage),
            stage.capacity.map_or("-".to_owned(), |capacity| capacity.to_string()),
            stage.depth.to_string(),
            stage.executed.to_string(),
            stage.stolen.to_string(),
            stage.refused.to_string(),
            stage.dropped.to_string(),
            stage.slow.to_string(),
        ]);
    }
    table.write(out, indent)
}

/// `4`, or `2 to 514` where threads come and go.
fn threads(stage: &StageSnapshot) -> String {
    if stage.threads == stage.threads_at_most {
        stage.threads.to_string()
    } else {
        format!("{} to {}", stage.threads, stage.threads_at_most)
    }
}

fn write_settings(out: &mut impl Write, json: bool) -> Outcome {
    let now = Settings::new();
    let mut table = Table::new(&["setting", "default", "range", "meaning"]);
    for setting in settings_table::SETTINGS {
        let number = setting.words.is_empty();
        let standard =
            if number { now.number(setting.key).to_string() } else { now.word(setting.key).to_owned() };
        let range = if number {
            format!("{} to {}", setting.range.0, setting.range.1)
        } else {
            setting.words.join(", ")
        };
        if json {
            let row = serde_json::json!({
                "setting": setting.key, "default": standard, "range": range, "meaning": setting.about,
            });
            writeln!(out, "{row}")?;
        }
        table.row([setting.key.to_owned(), standard, range, setting.about.to_owned()]);
    }
    if !json {
        table.write(out, "")?;
    }
    Ok(())
}
