//! The command line: one file per command.

mod client;
mod completions;
mod config;
mod cube;
mod demo;
mod form;
mod grid;
mod hang_up;
#[cfg(any(test, feature = "shell"))]
mod history;
mod http_page;
mod input;
mod interruption;
mod job;
mod json_log;
#[cfg(feature = "shell")]
mod line_editor;
mod log;
mod man;
mod moved_data;
mod open_files;
mod pid_file;
mod ping;
mod progress;
mod progress_bar;
mod readable;
mod reload;
mod screen_size;
mod settings_file;
mod spare_memory;
mod sql;
mod stages;
mod start;
mod stop;
mod store;
mod structures;
mod supervision;
mod table;
mod tell;
mod text;
mod top;

use clap::{CommandFactory, Parser, Subcommand};
use interruption::Interrupted;
use std::process::ExitCode;
use tell::tell;

/// What `filbert` was asked for.
#[derive(Debug, Parser)]
#[command(name = "filbert", version, about = ABOUT, long_about = LONG_ABOUT, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

const ABOUT: &str = "In-memory data platform: data grid, SQL, dataflow and cubes";

const LONG_ABOUT: &str = "In-memory data platform: data grid, SQL, dataflow and cubes

A member serves maps, queues, topics, locks and more to the official Hazelcast clients, and SQL to psql and the drivers of PostgreSQL. \
Other commands query files by SQL, compute measures over them, and run dataflow jobs. One member works alone: there are no clusters yet.";

const EXAMPLES: &str = "Examples:
  filbert demo                          a tour of what works, in a few seconds
  filbert start                         a member that Hazelcast clients reach on 127.0.0.1:5701, psql on 127.0.0.1:5433,
                                        Prometheus on 127.0.0.1:8080
  filbert ping                          whether that member is ready
  filbert top                           what that member does, live
  filbert start --config filbert.toml   the same with your settings
  filbert config check filbert.toml     everything that is wrong with them
  filbert map put cities Oslo 709000 --value-as long
                                        writes a number into a map of a running member
  filbert map get cities Oslo           and reads from it
  filbert queue poll jobs               takes from a queue; also topic, list, set
  filbert grid                          a prompt for such commands
  filbert verify filbert-data           reads everything on disk, and names what is damaged
  filbert backup filbert-data shop.fbk  a backup, also while the member runs
  filbert job word-count 'docs/*.md'    counts the words of files, and shows how the job went
  filbert sql                           a shell for SQL over files
  filbert sql 'SELECT 6 * 7' --format csv
                                        the same for one statement, or several
  filbert cube --example risk           sample data and measures to try
  filbert cube --forest risk.toml --table trades.parquet --measures pnl,var95 --by desk,ccy
                                        measures over files, as a pivot
  filbert stages                        the stages of a member with default settings
  filbert stages --config filbert.toml  the same with your settings, checked
  filbert stages --settings             every setting of the stages: default, range, meaning
  filbert stages --rules                which stage may submit to and wait for which
  filbert stages --json                 one object per stage; also with --settings and --rules";

#[derive(Debug, Subcommand)]
enum Command {
    /// A tour of what works, embedded, without any set-up.
    Demo(demo::Arguments),
    /// Starts a member that clients connect to; SIGTERM or SIGINT ends it in order, a second one at once.
    Start(start::Arguments),
    /// Asks a running member whether it is ready; the exit status is 0 when it is, else 1.
    Ping(ping::Arguments),
    /// Ends the member that wrote a file with its process id, and waits until it has ended.
    Stop(stop::Arguments),
    /// Settings files: checked, and printed with every value.
    Config(config::Arguments),
    #[command(flatten)]
    Structure(structures::StructureCommand<client::Whom>),
    /// A prompt for commands on the maps, queues, topics, lists and sets of a running member.
    Grid(Box<grid::Arguments>),
    /// Writes a backup of the maps in a data directory, also of one that a member uses.
    Backup(store::BackupArguments),
    /// Puts the maps of a backup into a data directory that no member uses.
    Restore(store::RestoreArguments),
    /// Reads a data directory or a backup to its end, and names what is damaged.
    Verify(store::VerifyArguments),
    /// Dataflow jobs: examples to run, with their progress and their DAG.
    Job(job::Arguments),
    /// SQL over files, or over the maps of a running member: a shell, a text, or a script.
    Sql(Box<sql::Arguments>),
    /// Cubes: measures over files, grouped, filtered, and shown as a pivot.
    Cube(Box<cube::Arguments>),
    /// The stages: their threads, bounds, settings and rules.
    Stages(stages::Arguments),
    /// Prints completions of this command line for a shell.
    Completions(completions::Arguments),
    /// Writes the manual pages of all commands into a folder.
    Man(man::Arguments),
    /// What a running member does: its stages, maps, clients, queries and jobs, once a second.
    Top(top::Arguments),
}

/// Runs what the command line says.
pub(crate) fn run() -> ExitCode {
    let result = match Arguments::parse().command {
        Some(Command::Demo(arguments)) => demo::run(&arguments),
        Some(Command::Start(arguments)) => start::run(&arguments),
        Some(Command::Ping(arguments)) => ping::run(&arguments),
        Some(Command::Stop(arguments)) => stop::run(&arguments),
        Some(Command::Config(arguments)) => config::run(&arguments),
        Some(Command::Structure(command)) => structures::run(&command),
        Some(Command::Grid(arguments)) => grid::run(&arguments),
        Some(Command::Backup(arguments)) => store::backup(&arguments),
        Some(Command::Restore(arguments)) => store::restore(&arguments),
        Some(Command::Verify(arguments)) => store::verify(&arguments),
        Some(Command::Job(arguments)) => job::run(&arguments),
        Some(Command::Sql(arguments)) => sql::run(&arguments),
        Some(Command::Cube(arguments)) => cube::run(&arguments),
        Some(Command::Stages(arguments)) => stages::run(&arguments),
        Some(Command::Completions(arguments)) => completions::run(&arguments),
        Some(Command::Man(arguments)) => man::run(&arguments),
        Some(Command::Top(arguments)) => top::run(&arguments),
        None => Arguments::command().print_help().map_err(Into::into),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            tell(format_args!("filbert: {error}"));
            error.downcast_ref::<Interrupted>().map_or(ExitCode::FAILURE, |by| ExitCode::from(by.status()))
        }
    }
}

/// The reader of our output went away (`filbert ... | head`): nothing is wrong.
fn is_broken_pipe(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref::<std::io::Error>().is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}

/// What a command ends with.
type Outcome = Result<(), Box<dyn std::error::Error>>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_sound_and_ignores_nothing() {
        Arguments::command().debug_assert();
        for ignored in ["--settings --config f", "--rules --config f", "--rules --settings"] {
            let words = ["filbert", "stages"].into_iter().chain(ignored.split(' '));
            assert!(Arguments::try_parse_from(words).is_err(), "{ignored}");
        }
        assert!(Arguments::try_parse_from(["filbert", "stages", "--rules", "--json"]).is_ok());
    }
}
