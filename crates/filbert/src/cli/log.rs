//! The log of a member on the standard error, whose level can be changed while it runs.

use super::json_log::JsonLines;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry, fmt, reload};

/// The way in which a member logs.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub(super) enum LogFormat {
    Text,
    Json,
}

/// The level of the log.
#[derive(Clone)]
pub(super) struct LogLevel {
    /// The level that the command line names, which stays.
    fixed: Option<LevelFilter>,
    handle: reload::Handle<LevelFilter, Registry>,
}

/// Begins to log. Without a level on the command line, that of the settings holds.
pub(super) fn begin(format: LogFormat, fixed: Option<LevelFilter>, of_settings: &str) -> LogLevel {
    let (level, handle) = reload::Layer::new(fixed.unwrap_or_else(|| parsed(of_settings)));
    // What cannot be written is lost: to tell of that on the same standard error would end the member.
    let lines = fmt::layer().with_writer(std::io::stderr).with_ansi(false).log_internal_errors(false);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.event_format(JsonLines).boxed(),
    };
    tracing_subscriber::registry().with(level).with(lines).init();
    LogLevel { fixed, handle }
}

impl LogLevel {
    /// Takes the level of the settings over, unless the command line names one.
    pub(super) fn change(&self, of_settings: &str) {
        if self.fixed.is_none() {
            // Refused when the log has ended only.
            let _ = self.handle.reload(parsed(of_settings));
        }
    }
}

/// Reads a level of the settings, which only take known words.
fn parsed(level: &str) -> LevelFilter {
    level.parse().unwrap_or(LevelFilter::WARN)
}
