//! Reads the settings file of a running member again, when the process is told to by SIGHUP.

use super::log::LogLevel;
use super::settings_file;
use super::supervision::Supervision;
use super::text::counted;
use filbert::{Member, MemberConfig, Reloaded, StartError};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The settings file of a running member.
pub(super) struct Reload {
    /// `None`: the member was started without one.
    file: Option<SettingsFile>,
    member: Member,
    log: LogLevel,
    supervision: Arc<Supervision>,
    /// Held by the one reload that runs. The next one reads what the file says by then.
    one_at_a_time: Mutex<()>,
}

/// A settings file as it was when the member started.
pub(super) struct SettingsFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

impl Reload {
    pub(super) fn new(
        file: Option<SettingsFile>,
        member: &Member,
        log: LogLevel,
        supervision: &Arc<Supervision>,
    ) -> Arc<Self> {
        let (member, supervision) = (member.clone(), Arc::clone(supervision));
        Arc::new(Self { file, member, log, supervision, one_at_a_time: Mutex::new(()) })
    }

    /// Begins a reload, on a thread that may block.
    pub(super) fn begin(self: &Arc<Self>) {
        let this = Arc::clone(self);
        match self.member.stages().mixed().submit("read the settings again", move || this.run()) {
            Ok(running) => running.detach(),
            Err(error) => tracing::warn!(%error, "SIGHUP: the settings were not read again"),
        }
    }

    fn run(&self) {
        let _one = self.one_at_a_time.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(file) = &self.file else {
            tracing::warn!(
                "SIGHUP: there are no settings to read again, the member was started without --config"
            );
            return;
        };
        // Its end is told before anything is written that may block.
        let taken_over = self.supervision.while_reloading(|| self.take_over(file));
        match taken_over {
            Ok(reloaded) => told(&reloaded),
            Err(error) => {
                let error = error.to_string();
                tracing::error!(error, "SIGHUP: the settings were not taken over, nothing has changed");
            }
        }
    }

    fn take_over(&self, file: &SettingsFile) -> Result<Reloaded, StartError> {
        let text = settings_file::text(&file.path)?;
        let config = MemberConfig::from_text_of(&file.path, &text)?;
        let reloaded = self.member.reload(&config).map_err(|error| match error {
            StartError::Settings { problems } => StartError::File { path: file.path.clone(), problems },
            other => other,
        })?;
        self.log.change(&config.log.level);
        for setting in MemberConfig::changes_for_a_restart(&file.text, &text) {
            tracing::warn!(setting, "a changed setting needs a restart");
        }
        Ok(reloaded)
    }
}

fn told(reloaded: &Reloaded) {
    let certificates = match reloaded.certificates.join(", ") {
        doors if doors.is_empty() => String::new(),
        doors => format!(" with the certificates of {doors}"),
    };
    let closed = match reloaded.closed_connections {
        0 => String::new(),
        closed => {
            format!("; {} of changed users closed", counted(closed as u64, "connection", "connections"))
        }
    };
    super::start::say(&format!("SIGHUP, the settings were read again{certificates}{closed}"));
    tracing::info!(
        certificates = reloaded.certificates.join(", "),
        closed_connections = reloaded.closed_connections,
        "the settings were read again"
    );
}
