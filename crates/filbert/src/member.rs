//! One Filbert process: its stages, and later everything that runs on them.

use filbert_pool::{
    Settings, SettingsError, Shutdown, ShutdownRefused, ShutdownReport, StageKind, Stages, StagesBuilder,
};

/// A running Filbert, where every program begins: a handle that is cheap to clone.
///
/// It ends with [`Member::shutdown`]; when the last handle is dropped without that, what has not begun is cancelled.
///
/// ```
/// use filbert::{Member, Shutdown};
///
/// let member = Member::builder().set("partition.threads", 2).executor("reports").start()?;
/// let report = member.stages().executor("reports")?.submit("report", || "done")?;
/// assert_eq!(report.wait()?, "done");
/// member.shutdown(Shutdown::Drain)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Member {
    stages: Stages,
}

/// Settings first, then [`MemberBuilder::start`].
///
/// A mistake in a setting is kept until `start`, which names all of them.
#[derive(Debug, Clone, Default)]
#[must_use = "call `start`"]
pub struct MemberBuilder {
    stages: StagesBuilder,
}

impl Member {
    /// A member with all defaults.
    pub fn start() -> Result<Self, SettingsError> {
        Self::builder().start()
    }

    /// Settings first.
    pub fn builder() -> MemberBuilder {
        MemberBuilder::default()
    }

    /// The stages that all work runs on.
    pub fn stages(&self) -> &Stages {
        &self.stages
    }

    /// Ends the member; call it from a thread that is none of its own.
    pub fn shutdown(&self, how: Shutdown) -> Result<ShutdownReport, ShutdownRefused> {
        self.stages.shutdown(how)
    }
}

impl MemberBuilder {
    /// Sets a number, by its key in the [table of settings](crate::settings_table): `set("partition.threads", 8)`.
    pub fn set(mut self, key: &str, value: u64) -> Self {
        self.stages = self.stages.set(key, value);
        self
    }

    /// Sets a word, by its key: `set_word("generic.when_full", "wait")`.
    pub fn set_word(mut self, key: &str, value: &str) -> Self {
        self.stages = self.stages.set_word(key, value);
        self
    }

    /// Sets the threads of a stage.
    pub fn threads(mut self, kind: StageKind, threads: usize) -> Self {
        self.stages = self.stages.threads(kind, threads);
        self
    }

    /// Declares an executor; its settings are `executor.<name>.*`.
    pub fn executor(mut self, name: &str) -> Self {
        self.stages = self.stages.executor(name);
        self
    }

    /// Adds what a TOML text says: a table per stage, `[executor.<name>]` for executors.
    pub fn toml(mut self, text: &str) -> Self {
        self.stages = self.stages.toml(text);
        self
    }

    /// Replaces all settings.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.stages = self.stages.settings(settings);
        self
    }

    /// Starts the member, or says everything that is wrong with the settings and starts nothing.
    pub fn start(self) -> Result<Member, SettingsError> {
        Ok(Member { stages: self.stages.start()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_builder_passes_every_setting_on() {
        let member = Member::builder()
            .toml("[executor.mail]\ncapacity = 7")
            .executor("reports")
            .set("executor.reports.threads", 1)
            .set_word("executor.reports.when_full", "wait")
            .threads(StageKind::Partition, 3)
            .start()
            .unwrap();
        let settings = member.stages().settings();
        assert_eq!(settings.number("executor.mail.capacity"), 7);
        assert_eq!(settings.number("executor.reports.threads"), 1);
        assert_eq!(settings.word("executor.reports.when_full"), "wait");
        assert_eq!(settings.number("partition.threads"), 3);
        member.shutdown(Shutdown::Cancel).unwrap();
    }

    #[test]
    fn every_mistake_is_named_and_nothing_starts() {
        let refused = Member::builder().set("cpu.threads", 0).toml("[cpv]\nthreads = 1").start().unwrap_err();
        assert_eq!(refused.problems.len(), 2, "{refused}");
    }
}
