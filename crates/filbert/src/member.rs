//! One Filbert process: its stages, and later everything that runs on them.

use filbert_pool::{Settings, SettingsError, Shutdown, ShutdownRefused, ShutdownReport, Stages};

/// A running Filbert: a handle that is cheap to clone.
#[derive(Debug, Clone)]
pub struct Member {
    stages: Stages,
}

/// Settings first, then [`MemberBuilder::start`].
#[derive(Debug, Clone, Default)]
#[must_use = "call `start`"]
pub struct MemberBuilder {
    settings: Settings,
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

    /// Ends the member.
    pub fn shutdown(&self, how: Shutdown) -> Result<ShutdownReport, ShutdownRefused> {
        self.stages.shutdown(how)
    }
}

impl MemberBuilder {
    /// Uses these settings.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Starts the member, or says everything that is wrong with the settings and starts nothing.
    pub fn start(self) -> Result<Member, SettingsError> {
        Ok(Member { stages: Stages::builder().settings(self.settings).start()? })
    }
}
