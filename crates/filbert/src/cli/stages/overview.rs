//! The stages of a member as tables: what each is before it has worked, and what it counted afterwards.

use super::super::Outcome;
use super::super::table::Table;
use filbert::{Settings, StageKind, StageSnapshot};
use std::io::{self, Write};

/// A stage's snapshot with what only its settings know.
#[derive(serde::Serialize)]
struct Described<'a> {
    #[serde(flatten)]
    snapshot: &'a StageSnapshot,
    /// What happens to work that finds the stage full; nothing where it never is.
    when_full: Option<String>,
    /// What the capacity counts.
    capacity_counts: Option<&'static str>,
}

impl<'a> Described<'a> {
    fn new(snapshot: &'a StageSnapshot, settings: &Settings) -> Self {
        let kind = snapshot.stage.split('/').next();
        let kind = StageKind::ALL.into_iter().find(|known| Some(known.as_str()) == kind);
        let counts = match kind {
            Some(StageKind::Partition | StageKind::Query) => "per strand",
            Some(StageKind::Event) => "all topics",
            Some(StageKind::Io) => "all loops",
            Some(StageKind::Dedicated) => "threads",
            Some(StageKind::Fragment | StageKind::Flow | StageKind::Cpu) => "tasks from outside",
            _ => "all threads",
        };
        let when_full = match kind {
            Some(StageKind::Event) => {
                format!("drop after {} ms", settings.number("event.offer_timeout_ms"))
            }
            Some(StageKind::Generic | StageKind::Executor) => {
                settings.word(&format!("{}.when_full", snapshot.stage.replace('/', "."))).to_owned()
            }
            _ => "refuse".to_owned(),
        };
        let bounded = snapshot.capacity.is_some();
        Self { snapshot, when_full: bounded.then_some(when_full), capacity_counts: bounded.then_some(counts) }
    }
}

/// What each stage is: threads, bound, and what happens when it is full.
pub(super) fn write(
    out: &mut impl Write,
    stages: &[StageSnapshot],
    settings: &Settings,
    json: bool,
) -> Outcome {
    let stages = stages.iter().map(|snapshot| Described::new(snapshot, settings));
    if json {
        for stage in stages {
            writeln!(out, "{}", serde_json::to_string(&stage)?)?;
        }
        return Ok(());
    }
    let mut table = Table::new(&["stage", "mechanism", "threads", "capacity", "counts", "when full"]);
    for Described { snapshot, when_full, capacity_counts } in stages {
        table.row([
            snapshot.stage.to_owned(),
            snapshot.mechanism.to_owned(),
            threads(snapshot),
            capacity(snapshot),
            capacity_counts.unwrap_or("-").to_owned(),
            when_full.unwrap_or_else(|| "-".to_owned()),
        ]);
    }
    Ok(table.write(out, "")?)
}

/// What each stage counted.
pub(in super::super) fn write_counters(
    out: &mut impl Write,
    stages: &[StageSnapshot],
    indent: &str,
) -> io::Result<()> {
    let header = ["stage", "threads", "queued", "executed", "stolen", "refused", "dropped", "slow"];
    let mut table = Table::new(&header);
    for stage in stages {
        table.row([
            stage.stage.to_owned(),
            threads(stage),
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

fn capacity(stage: &StageSnapshot) -> String {
    stage.capacity.map_or("-".to_owned(), |capacity| capacity.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert::Stages;

    #[test]
    fn every_bounded_stage_says_what_happens_when_it_is_full() {
        let text = "[event]\noffer_timeout_ms = 7\n[executor.reports]\nwhen_full = \"wait\"";
        let stages = Stages::builder().toml(text).simulated(1).unwrap();
        let snapshot = stages.snapshot();
        let when_full = |name: &str| {
            let stage = snapshot.iter().find(|stage| stage.stage == name).unwrap();
            Described::new(stage, stages.settings()).when_full
        };
        assert_eq!(when_full("executor/reports").as_deref(), Some("wait"));
        assert_eq!(when_full("generic").as_deref(), Some("refuse"));
        assert_eq!(when_full("event").as_deref(), Some("drop after 7 ms"));
        assert_eq!(when_full("mixed"), None);
    }
}
