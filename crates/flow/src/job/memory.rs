//! What the state of jobs may take: a limit for each job, and one for all jobs of a member.
//!
//! Processors say after each call what they hold ([`Processor::held_bytes`](crate::Processor::held_bytes)): groups, tables of joins,
//! open windows, what is being sorted. A change is an addition to the job and to the member. The job that would go beyond a limit
//! fails, and the error names the vertex that holds the most of it. Queues and buffers between vertices are bounded by themselves.
//! Runs on the workers of the stage `flow`.

use super::error::StateTooLarge;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The memory that the state of several jobs takes together; a handle that is cheap to clone.
///
/// ```
/// let memory = filbert_flow::FlowMemory::new(64 << 20);
/// assert_eq!((memory.held(), memory.limit()), (0, 64 << 20));
/// ```
#[derive(Debug, Clone)]
pub struct FlowMemory {
    total: Arc<Total>,
}

#[derive(Debug)]
struct Total {
    limit: usize,
    held: AtomicUsize,
}

impl FlowMemory {
    /// Makes an account of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { total: Arc::new(Total { limit, held: AtomicUsize::new(0) }) }
    }

    /// Returns what all jobs hold now, in bytes.
    pub fn held(&self) -> usize {
        self.total.held.load(Ordering::Relaxed)
    }

    /// Returns what they may hold, in bytes.
    pub fn limit(&self) -> usize {
        self.total.limit
    }
}

/// The memory that the state of one job takes.
#[derive(Debug)]
pub(crate) struct JobMemory {
    limit: Option<usize>,
    held: AtomicUsize,
    all: Option<FlowMemory>,
}

impl JobMemory {
    pub(super) fn new(limit: Option<usize>, all: Option<FlowMemory>) -> Arc<Self> {
        Arc::new(Self { limit, held: AtomicUsize::new(0), all })
    }

    /// Notes that a processor holds `now` bytes instead of `before`. Refuses growth beyond a limit; it is noted all the same.
    pub(crate) fn change(&self, before: usize, now: usize) -> Result<(), StateTooLarge> {
        let more = now.wrapping_sub(before);
        let job_bytes = self.held.fetch_add(more, Ordering::Relaxed).wrapping_add(more);
        let all_bytes = match &self.all {
            Some(all) => all.total.held.fetch_add(more, Ordering::Relaxed).wrapping_add(more),
            None => 0,
        };
        if now <= before {
            return Ok(());
        }
        match (self.limit, &self.all) {
            (Some(limit), _) if job_bytes > limit => {
                Err(StateTooLarge { job_bytes, limit, all_bytes: None, ..Default::default() })
            }
            (_, Some(all)) if all_bytes > all.limit() => Err(StateTooLarge {
                job_bytes,
                limit: all.limit(),
                all_bytes: Some(all_bytes),
                ..Default::default()
            }),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_a_limit_of_its_own_and_one_with_others() {
        let all = FlowMemory::new(100);
        let (one, other) =
            (JobMemory::new(Some(60), Some(all.clone())), JobMemory::new(None, Some(all.clone())));
        one.change(0, 60).unwrap();
        other.change(0, 40).unwrap();
        let refused = one.change(60, 61).unwrap_err();
        assert_eq!((refused.limit, refused.job_bytes, refused.all_bytes), (60, 61, None));
        one.change(61, 30).unwrap();
        let refused = other.change(40, 80).unwrap_err();
        assert_eq!((refused.limit, refused.job_bytes, refused.all_bytes), (100, 80, Some(110)));
        // Shrinking is never refused, also beyond the limit.
        other.change(80, 75).unwrap();
        other.change(75, 0).unwrap();
        one.change(30, 0).unwrap();
        assert_eq!(all.held(), 0);
    }
}
