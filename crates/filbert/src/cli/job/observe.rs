//! Runs a job and looks at it while it runs: a progress line on a terminal.

use super::super::interruption::Interruption;
use super::super::progress::{EVERY, show};
use filbert::flow::{JobMetrics, JobStatus};
use filbert::{Dag, Job, JobError, Member, TaskError};
use std::time::Duration;

/// What was seen of a job.
pub(super) struct Observed {
    pub(super) job: Job,
    pub(super) ended: Result<(), JobError>,
    pub(super) elapsed: Duration,
}

/// Runs the job to its end, or until it is interrupted; shows its progress on the terminal if it is watched.
pub(super) fn run(
    member: &Member,
    dag: &Dag,
    is_watched: bool,
    interruption: &Interruption,
) -> Result<Observed, JobError> {
    let clock = member.stages().clock();
    let began = clock.now();
    let job = member.submit(dag)?;
    let covered = job.clone();
    interruption.cover(move || covered.cancel());
    let ended = loop {
        let waited = job.wait_timeout(EVERY);
        if !matches!(waited, Err(JobError::Wait(TaskError::TimedOut { .. }))) {
            break waited;
        }
        if is_watched {
            show(&progress(job.name(), job.status(), &job.metrics(), clock.now().saturating_sub(began)));
        }
    };
    if is_watched {
        show("");
    }
    Ok(Observed { job, ended, elapsed: clock.now().saturating_sub(began) })
}

/// One line: how far, how fast, and what holds it up.
fn progress(name: &str, status: JobStatus, metrics: &JobMetrics, elapsed: Duration) -> String {
    let emitted: u64 = metrics.vertices.iter().map(|vertex| vertex.items_out).sum();
    let speed = emitted as f64 / elapsed.as_secs_f64().max(1e-3) / 1e6;
    let mut line = format!(
        "{name}: {}, {:.1} s, {emitted} items emitted, {speed:.1} M/s",
        word(status),
        elapsed.as_secs_f64()
    );
    let slowest = metrics.edges.iter().max_by(|a, b| a.fill().total_cmp(&b.fill()));
    if let Some(edge) = slowest.filter(|edge| edge.fill() > 0.5) {
        line += &format!(
            "; {} is {:.0} % full",
            format_args!("{} -> {}", edge.from, edge.to),
            edge.fill() * 100.0
        );
    }
    line
}

/// A status as a word.
pub(super) fn word(status: JobStatus) -> String {
    format!("{status:?}").to_lowercase()
}
