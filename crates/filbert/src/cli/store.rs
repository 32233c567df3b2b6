//! `filbert backup`, `restore` and `verify`: maps on disk, without a member, or beside one.

use super::Outcome;
use super::progress;
use super::table::Table;
use super::text::counted;
use filbert_store::{MapReport, Progress, Report};
use serde_json::json;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

/// The options of `filbert backup`.
#[derive(Debug, clap::Args)]
#[command(after_help = BACKUP_EXAMPLES)]
pub(super) struct BackupArguments {
    /// The data directory.
    data: PathBuf,
    /// The file that the backup is written to; one that is there is replaced when the backup is whole.
    backup: PathBuf,
    /// JSON: one object per map.
    #[arg(long)]
    json: bool,
}

const BACKUP_EXAMPLES: &str = "What is damaged is left out and named, and the command ends with status 1; such a backup has .incomplete behind its
name, and one that is there already stays.

Examples:
  filbert backup filbert-data shop.fbk
  filbert backup /var/lib/filbert /mnt/backups/shop-$(date +%F).fbk --json";

/// The options of `filbert restore`.
#[derive(Debug, clap::Args)]
#[command(after_help = RESTORE_EXAMPLES)]
pub(super) struct RestoreArguments {
    /// The backup.
    backup: PathBuf,
    /// The data directory; made when it is not there. No member may use it.
    data: PathBuf,
    /// Replaces maps that are there already, each as a whole.
    #[arg(long)]
    replace: bool,
    /// JSON: one object per map.
    #[arg(long)]
    json: bool,
}

const RESTORE_EXAMPLES: &str = "The backup is read to its end before anything is changed.

Examples:
  filbert restore shop.fbk filbert-data
  filbert restore shop.fbk filbert-data --replace";

/// The options of `filbert verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(super) struct VerifyArguments {
    /// A data directory, also one that a member uses, or a backup.
    path: PathBuf,
    /// JSON: one object per map.
    #[arg(long)]
    json: bool,
}

const VERIFY_EXAMPLES: &str = "Ends with status 1 when something is damaged.

Examples:
  filbert verify filbert-data
  filbert verify shop.fbk --json";

pub(super) fn backup(arguments: &BackupArguments) -> Outcome {
    let salt = u64::from_le_bytes(*uuid::Uuid::new_v4().as_bytes().first_chunk().unwrap_or(&[0; 8]));
    let (data, target) = (&arguments.data, &arguments.backup);
    let report = watched("backup", |told| filbert_store::backup(data, target, salt, told))?;
    let made = if report.is_sound() { target.clone() } else { filbert_store::incomplete(target) };
    say(&report, arguments.json, &format!("in {}", made.display()))
}

pub(super) fn restore(arguments: &RestoreArguments) -> Outcome {
    let RestoreArguments { backup, data, replace, json } = arguments;
    let report = watched("restore", |told| filbert_store::restore(backup, data, *replace, told))?;
    say(&report, *json, &format!("restored into {}", data.display()))
}

pub(super) fn verify(arguments: &VerifyArguments) -> Outcome {
    let path: &Path = &arguments.path;
    let report = watched("verify", |told| filbert_store::verify(path, told))?;
    say(&report, arguments.json, &format!("read in {}", path.display()))
}

/// Runs a chore, and shows on a terminal how far it is.
fn watched<T>(chore: &str, run: impl FnOnce(&mut dyn FnMut(&Progress)) -> T) -> T {
    let is_terminal = std::io::stderr().is_terminal();
    let mut told = |now: &Progress| {
        if is_terminal {
            let share = now.done * 100 / now.steps.max(1);
            progress::show(&format!("{chore}: {share} %, map {}, {} entries", now.map, now.entries));
        }
    };
    let result = run(&mut told);
    if is_terminal {
        progress::show("");
    }
    result
}

fn as_json(map: &MapReport) -> serde_json::Value {
    let damage = map.damage.iter().map(|damage| {
        json!({ "file": damage.file, "at": damage.at, "length": damage.length, "problem": damage.problem })
    });
    json!({
        "map": map.name,
        "entries": map.entries,
        "bytes": map.bytes,
        "torn_bytes": map.torn_bytes,
        "damage": damage.collect::<Vec<_>>(),
    })
}

/// Says what was found; an error when something is damaged.
fn say(report: &Report, as_lines: bool, what: &str) -> Outcome {
    let out = &mut std::io::stdout().lock();
    if as_lines {
        for map in report.all() {
            writeln!(out, "{}", as_json(map))?;
        }
        if let Some(damage) = &report.directory {
            writeln!(out, "{}", json!({ "file": damage.file, "problem": damage.problem }))?;
        }
    } else {
        let mut table = Table::new(&["map", "entries", "bytes", "torn bytes", "damaged places"]);
        for map in report.all() {
            let numbers = [map.entries, map.bytes, map.torn_bytes, map.damage.len() as u64];
            let cells = std::iter::once(map.name.clone()).chain(numbers.map(|number| number.to_string()));
            table.row(cells);
        }
        table.write(out, "")?;
        if let Some(damage) = &report.directory {
            writeln!(out, "{}", damage.problem)?;
        }
        for map in report.all() {
            for damage in &map.damage {
                writeln!(out, "map {}: {damage}", map.name)?;
            }
        }
        let entries = counted(report.entries(), "entry", "entries");
        writeln!(out, "{entries} of {} {what}", counted(report.maps.len() as u64, "map", "maps"))?;
    }
    out.flush()?;
    if report.is_sound() {
        return Ok(());
    }
    let places = counted(report.damage().count() as u64, "damaged place", "damaged places");
    Err(format!("{places}; what was there is left out, restore it from a backup").into())
}
