//! `filbert start`: a member with its doors open, until it is told to end.

use super::Outcome;
use super::hang_up::HeldHangUp;
use super::log::{self, LogFormat};
use super::moved_data;
use super::open_files;
use super::pid_file::PidFile;
use super::progress;
use super::reload::{Reload, SettingsFile};
use super::settings_file;
use super::spare_memory;
use super::supervision::Supervision;
use super::text::counted;
use filbert::pool::process_memory;
use filbert::{HangUp, Member, MemberConfig, SettingValue, Shutdown, StartError};
use filbert_wire::PARTITION_COUNT;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tracing_subscriber::filter::LevelFilter;

/// The options of `filbert start`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A TOML file with settings.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The port for Hazelcast clients; 0 lets the system choose.
    #[arg(long)]
    port: Option<u16>,
    /// The port for PostgreSQL clients; 0 lets the system choose.
    #[arg(long, value_name = "PORT")]
    postgres_port: Option<u16>,
    /// The port for metrics and health over HTTP; 0 lets the system choose.
    #[arg(long, value_name = "PORT")]
    http_port: Option<u16>,
    /// What clients must call the cluster.
    #[arg(long, value_name = "NAME")]
    cluster_name: Option<String>,
    /// The folder of maps that the settings keep on disk; without such maps nothing is kept in it.
    #[arg(long, value_name = "FOLDER")]
    data_dir: Option<PathBuf>,
    /// Writes the process id to this file, for `filbert stop`.
    #[arg(long, value_name = "FILE")]
    pid_file: Option<PathBuf>,
    /// What is logged to the standard error: off, error, warn, info, debug or trace. Without it, what log.level of the settings says: warn,
    /// unless it is set.
    #[arg(long, value_name = "LEVEL")]
    log: Option<LevelFilter>,
    /// How it is logged: text for people, json for programs, an object on each line.
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
}

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let hang_up = HeldHangUp::hold()?;
    let (config, file) = config(arguments)?;
    let log = log::begin(arguments.log_format, arguments.log, &config.log.level);
    let supervision = Arc::new(Supervision::find());
    // Held, and thereby locked, until the member has ended.
    let _pid_file = arguments.pid_file.as_deref().map(PidFile::claim).transpose()?;
    let kept = kept_on_disk(&config);
    if let (Some(folder), []) = (&arguments.data_dir, kept.as_slice()) {
        can_be_written(folder)?;
    }
    if let (Some(file), None, [_, ..]) = (&file, &arguments.data_dir, kept.as_slice()) {
        moved_data::refuse(file, &config.grid.data_directory)?;
    }
    let (memory, directory) = (memory_shares(&config), config.grid.data_directory.clone());
    let cluster = config.hazelcast.cluster_name.clone();
    let few_files = open_files::warning(&config);
    let (version, process) = (env!("CARGO_PKG_VERSION"), std::process::id());
    tracing::info!(version, process, cluster, data_directory = directory, "the member starts");
    let is_seen = std::io::stderr().is_terminal();
    filbert::pool::try_threads(threads_of(&config))?;
    process_memory::set_limit(config.memory.process_bytes());
    let member = Member::builder()
        .config(config)
        .on_recovery(move |now| {
            if is_seen {
                let share = now.shelves * 100 / now.of.max(1);
                progress::show(&format!(
                    "map {} comes back from disk: {share} %, {} entries",
                    now.map, now.entries
                ));
            }
        })
        .start()?;
    if is_seen && !member.grid().recovered().is_empty() {
        progress::show("");
    }
    spare_memory::give_back(member.stages());
    let has_settings = file.is_some();
    let reload = Reload::new(file, &member, log, &supervision);
    let end = member.end_signal_or_reload(move || reload.begin())?;
    let hang_up = effect(hang_up.release()?, has_settings);
    for (whom, address) in member.listening() {
        say(&format!("{whom} on {address}"));
    }
    say(&format!("version {version}, process {process}"));
    say(&memory);
    if let Some(few_files) = few_files {
        say(&few_files);
    }
    match (kept.as_slice(), &arguments.data_dir) {
        ([], None) => {}
        ([], Some(folder)) => say(&format!(
            "nothing is kept in {}: no map of the settings has persistence; [map.\"*\".persistence] in a settings file keeps all maps",
            absolute(folder).display()
        )),
        (kept, _) => say(&format!(
            "kept on disk in {}: {} {}",
            absolute(Path::new(&directory)).display(),
            if kept.len() == 1 { "map" } else { "maps" },
            kept.join(", ")
        )),
    }
    for map in member.grid().recovered() {
        let mut entries = counted(map.entries, "entry", "entries");
        if map.untold > 0 {
            let untold = counted(map.untold, "change", "changes");
            entries = format!("{entries}, and {untold} that the store behind it had yet to be told of");
        }
        say(&match member.grid().damaged_partitions(&map.name) {
            0 => format!("map {:?} is back from disk: {entries}", map.name),
            damaged => format!(
                "map {:?} is back from disk in part: {entries}; {damaged} of {PARTITION_COUNT} partitions are damaged and not served, \
                 see `filbert verify`",
                map.name
            ),
        });
    }
    if let Some(damage) = member.grid().damaged_directory() {
        say(&format!("{}: {}; see `filbert verify`", damage.file, damage.problem));
    }
    if let Some(damage) = member.grid().damaged_definitions().first() {
        say(&format!("Compact schemas or indexes on disk cannot be read: {damage}; see `filbert verify`"));
    }
    say(hang_up);
    say(&format!("the cluster is called {cluster:?}; Ctrl-C ends the member"));
    tracing::info!(hang_up, "the member serves");
    supervision.serves();
    let watched = supervision.watched(member.stages());
    let signal = end.wait()?;
    supervision.stopping();
    if signal == "SIGINT" && std::io::stdout().is_terminal() {
        // The terminal has written ^C and stands behind it.
        let _ = writeln!(std::io::stdout());
    }
    // A drain may take as long as its clients let it; whoever asks twice does not want to wait.
    member
        .end_signal_or_reload(|| tracing::warn!("SIGHUP: the settings are not read again, the member ends"))?
        .on_told(|signal| {
            say(&format!("{signal} again, ending at once"));
            std::process::exit(1);
        });
    say(&format!("{signal}, draining"));
    tracing::info!(signal, "the member drains");
    let report = member.shutdown(Shutdown::Drain)?;
    tracing::info!(cut_short = report.cut_short.join(", "), "the member has ended");
    drop(watched);
    if report.cut_short.is_empty() {
        say("ended");
    } else {
        say(&format!("ended; not everything was done in time on {}", report.cut_short.join(", ")));
    }
    if !report.unsaved.is_empty() {
        let unsaved = report.unsaved.join("; ");
        return Err(
            format!("the last changes are not on disk, and are lost with this process: {unsaved}").into()
        );
    }
    Ok(())
}

/// Returns the sentence about what a SIGHUP does.
fn effect(hang_up: HangUp, has_settings: bool) -> &'static str {
    match (hang_up, has_settings) {
        (HangUp::Reloads, true) => "SIGHUP reads the settings again",
        (HangUp::Reloads, false) => "SIGHUP changes nothing: the member was started without --config",
        (HangUp::Ends, _) => "SIGHUP ends this member: it was started from a terminal",
        (HangUp::Ignored, _) => "SIGHUP is ignored, as it was when the member was started",
    }
}

/// The threads that a member with these settings starts, roughly. Those of stage `dedicated` are made when they are needed.
fn threads_of(config: &MemberConfig) -> usize {
    let is_counted = |key: &str| key.ends_with(".threads") && key != "dedicated.threads";
    let threads = config.stages.values().into_iter().filter(|(key, _)| is_counted(key));
    let number = |value| match value {
        SettingValue::Number(number) => usize::try_from(number).unwrap_or(usize::MAX),
        SettingValue::Word(_) => 0,
    };
    threads.map(|(_, value)| number(value)).sum()
}

/// The names and patterns of maps that the settings keep on disk.
fn kept_on_disk(config: &MemberConfig) -> Vec<String> {
    let kept = config.grid.maps.entries().filter(|(_, map)| map.persistence.is_some());
    kept.map(|(pattern, _)| format!("{pattern:?}")).collect()
}

/// What data and queries may take.
fn memory_shares(config: &MemberConfig) -> String {
    let bytes = |bytes: u64| format!("{} MiB", bytes >> 20);
    format!(
        "memory: {} for data (grid.memory_bytes), {} for queries (sql.memory_bytes), {} for cubes (memory.cube_bytes), {} for jobs (memory.flow_bytes), of {} in \
         all (memory.limit_bytes)",
        bytes(config.grid.memory_bytes.unwrap_or(0)),
        bytes(config.sql.memory_bytes as u64),
        bytes(config.memory.cube_bytes.unwrap_or(0)),
        bytes(config.memory.flow_bytes.unwrap_or(0)),
        bytes(config.memory.limit_bytes.unwrap_or(0)),
    )
}

fn absolute(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

/// Tries a folder that the command names and nothing opens: a mistake in it is told at once, not when a map is kept there one day.
fn can_be_written(folder: &Path) -> Result<(), String> {
    let probe = folder.join(format!(".filbert-{}", std::process::id()));
    let tried = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&probe, b""))
        .and_then(|()| std::fs::remove_file(&probe));
    tried.map_err(|error| {
        format!(
            "the folder {} of --data-dir cannot be written: {error}; name one that can, or leave --data-dir out",
            folder.display()
        )
    })
}

/// Says where the member stands. It serves and drains all the same when nobody reads that any more.
pub(super) fn say(line: &str) {
    let mut out = std::io::stdout();
    let _ = writeln!(out, "filbert: {line}").and_then(|()| out.flush());
}

/// Reads the settings, and keeps the text of their file for a reload.
fn config(arguments: &Arguments) -> Result<(MemberConfig, Option<SettingsFile>), StartError> {
    let (mut config, file) = match &arguments.config {
        None => (MemberConfig::default(), None),
        Some(path) => {
            let text = settings_file::text(path)?;
            let config = MemberConfig::from_text_of(path, &text)?;
            (config, Some(SettingsFile { path: path.clone(), text }))
        }
    };
    if let Some(port) = arguments.port {
        config.hazelcast.address.set_port(port);
    }
    if let Some(port) = arguments.postgres_port {
        config.postgres.address.set_port(port);
    }
    if let Some(port) = arguments.http_port {
        config.http.address.set_port(port);
    }
    if let Some(folder) = &arguments.data_dir {
        let Some(folder) = folder.to_str() else {
            let problem =
                format!("grid.data_directory: the folder {} of --data-dir is not UTF-8", folder.display());
            return Err(StartError::Settings { problems: vec![problem] });
        };
        config.grid.data_directory = folder.to_owned();
    }
    if let Some(name) = &arguments.cluster_name {
        config.hazelcast.cluster_name.clone_from(name);
    }
    Ok((config, file))
}
