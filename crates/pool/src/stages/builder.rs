//! Settings first, then the stages: nothing starts before everything is checked.

use super::Stages;
use super::start;
use crate::env::Env;
use crate::rules::StageKind;
use crate::settings::{Settings, SettingsError};
use crate::shared::{SharedSettings, WhenFull};

/// Collects settings and starts the stages.
#[derive(Debug, Clone, Default)]
#[must_use = "call `start`"]
pub struct StagesBuilder {
    settings: Settings,
}

/// The numbers of an executor that is added while the stages run.
#[derive(Debug, Clone)]
pub struct ExecutorSettings {
    /// Its threads.
    pub threads: usize,
    /// Tasks that wait for a thread.
    pub capacity: usize,
    /// What a submit does when the queue is full.
    pub when_full: WhenFull,
}

impl Default for ExecutorSettings {
    fn default() -> Self {
        let settings = Settings::new();
        Self {
            threads: settings.size("executor.any.threads"),
            capacity: settings.size("executor.any.capacity"),
            when_full: when_full(&settings, "executor.any"),
        }
    }
}

impl ExecutorSettings {
    pub(super) fn check(&self, name: &str) -> Result<(), SettingsError> {
        let mut settings = Settings::new();
        settings.add_executor(name);
        settings.set(&format!("executor.{name}.threads"), self.threads as u64);
        settings.set(&format!("executor.{name}.capacity"), self.capacity as u64);
        settings.check()
    }

    pub(super) fn shared(&self) -> SharedSettings {
        SharedSettings {
            threads: self.threads,
            capacity: self.capacity,
            when_full: self.when_full,
            slow_limit: None,
        }
    }
}

impl StagesBuilder {
    /// Sets a number, by its key in the [table of settings](crate::settings_table).
    pub fn set(mut self, key: &str, value: u64) -> Self {
        self.settings.set(key, value);
        self
    }

    /// Sets a word, by its key.
    pub fn set_word(mut self, key: &str, value: &str) -> Self {
        self.settings.set_word(key, value);
        self
    }

    /// Sets the threads of a stage.
    pub fn threads(self, kind: StageKind, threads: usize) -> Self {
        self.set(&format!("{kind}.threads"), threads as u64)
    }

    /// Declares an executor.
    pub fn executor(mut self, name: &str) -> Self {
        self.settings.add_executor(name);
        self
    }

    /// Adds what a TOML text says.
    pub fn toml(mut self, text: &str) -> Self {
        self.settings.merge_toml(text);
        self
    }

    /// Replaces all settings.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Checks the settings and starts every stage, or says everything that is wrong and starts nothing.
    pub fn start(self) -> Result<Stages, SettingsError> {
        self.settings.check()?;
        Ok(start::all(Env::real(), self.settings))
    }

    /// Like [`StagesBuilder::start`] on the calling thread, with virtual time, every choice from `seed`. Counts as a
    /// machine of two cores whatever the machine is, so that a seed means the same everywhere.
    pub fn simulated(self, seed: u64) -> Result<Stages, SettingsError> {
        self.settings.check()?;
        Ok(start::all(Env::simulated(seed), self.settings.for_cores(2)))
    }
}

pub(super) fn when_full(settings: &Settings, stage: &str) -> WhenFull {
    match settings.word(&format!("{stage}.when_full")) {
        "wait" => WhenFull::Wait,
        _ => WhenFull::Refuse,
    }
}
