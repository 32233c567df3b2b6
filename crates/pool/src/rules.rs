//! Which stage may submit to, wait for and await which: the table behind every guard, as data.
//!
//! Waiting goes down only. Each kind of stage has a *rank*; a thread may block on a stage of a strictly lower rank and on
//! no other, so no cycle of blocked threads can ever close. The three levels of the architecture are ranges of ranks:
//!
//! | Level | Ranks | Kinds | May block on |
//! |---|---|---|---|
//! | A | 5 | application threads | everything |
//! | A | 4 | dedicated | executors, maintenance, mixed, B, C |
//! | A | 3 | executors, maintenance | mixed, B, C |
//! | A | 2 | mixed | B, C |
//! | B | 1 | event, generic | C |
//! | C | 0 | io, partition, query, fragment, flow, cpu | nothing |
//!
//! An executor has the rank of every other executor, so a task waits neither for its own executor nor for another one
//! that might wait for it in turn.
//!
//! *Crossing*: work that may block is submitted downwards only: pure computation on `cpu` starts no work on `mixed`,
//! `maintenance`, executors or dedicated threads.
//!
//! *Awaiting* holds up nobody and is allowed everywhere but in closures on `cpu`, which have no task that could be woken. The
//! table's row for `cpu` is about those closures; a future that is polled there, or on a pool of its own, awaits like any other.

use std::fmt;

/// The kinds of stages; a stage is one kind with a name of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StageKind {
    /// A thread that Filbert did not make: `main`, a test, a server's own pool.
    Application,
    /// One named thread for one long-running blocking thing.
    Dedicated,
    /// A named executor for user tasks.
    Executor,
    /// Refreshes, eviction, housekeeping.
    Maintenance,
    /// Anything that may block: databases, files, HTTP.
    Mixed,
    /// Listeners, topics, near caches.
    Event,
    /// Operations without a partition, and user callbacks.
    Generic,
    /// Sockets and framing.
    Io,
    /// Operations on partitions.
    Partition,
    /// Control messages of queries.
    Query,
    /// Query fragments.
    Fragment,
    /// Tasklets of dataflow jobs.
    Flow,
    /// Pure computation.
    Cpu,
}

/// How far down a stage stands; waiting goes from A to B to C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// May block on B and C, and inside A in the order application, dedicated, executors and maintenance, mixed.
    A,
    /// May block on C.
    B,
    /// Never blocks.
    C,
}

/// What one stage may do with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permission {
    /// Hand work over.
    pub submit: bool,
    /// Block the thread until the work is done.
    pub wait: bool,
    /// Be woken when the work is done. Of a closure: futures always may.
    pub r#await: bool,
}

impl StageKind {
    /// Every kind, from the top of the table to its bottom.
    pub const ALL: [StageKind; 13] = [
        StageKind::Application,
        StageKind::Dedicated,
        StageKind::Executor,
        StageKind::Maintenance,
        StageKind::Mixed,
        StageKind::Event,
        StageKind::Generic,
        StageKind::Io,
        StageKind::Partition,
        StageKind::Query,
        StageKind::Fragment,
        StageKind::Flow,
        StageKind::Cpu,
    ];

    /// The word used for it in messages, settings and thread names.
    pub const fn as_str(self) -> &'static str {
        match self {
            StageKind::Application => "application",
            StageKind::Dedicated => "dedicated",
            StageKind::Executor => "executor",
            StageKind::Maintenance => "maintenance",
            StageKind::Mixed => "mixed",
            StageKind::Event => "event",
            StageKind::Generic => "generic",
            StageKind::Io => "io",
            StageKind::Partition => "partition",
            StageKind::Query => "query",
            StageKind::Fragment => "fragment",
            StageKind::Flow => "flow",
            StageKind::Cpu => "cpu",
        }
    }

    /// Its height: a thread may wait for a strictly lower rank only.
    pub const fn rank(self) -> u8 {
        match self {
            StageKind::Application => 5,
            StageKind::Dedicated => 4,
            StageKind::Executor | StageKind::Maintenance => 3,
            StageKind::Mixed => 2,
            StageKind::Event | StageKind::Generic => 1,
            StageKind::Io
            | StageKind::Partition
            | StageKind::Query
            | StageKind::Fragment
            | StageKind::Flow
            | StageKind::Cpu => 0,
        }
    }

    /// Its level.
    pub const fn level(self) -> Level {
        match self.rank() {
            0 => Level::C,
            1 => Level::B,
            _ => Level::A,
        }
    }

    /// What a thread of this stage may do with work of `to`.
    pub const fn permission(self, to: StageKind) -> Permission {
        let cpu = matches!(self, StageKind::Cpu);
        Permission {
            submit: (!cpu || to.rank() < StageKind::Mixed.rank()) && !matches!(to, StageKind::Application),
            wait: self.rank() > to.rank(),
            r#await: !cpu,
        }
    }
}

impl fmt::Display for StageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The table as Markdown: a row per stage, and in each cell what it may do with the stage of the column
/// (`s` submit, `w` wait, `a` await, `-` nothing). `docs/design/005-stage-table.md` is made of it.
pub fn table() -> String {
    let columns = &StageKind::ALL[1..];
    let mut out = String::from("| from \\ to |");
    for to in columns {
        out += &format!(" {to} |");
    }
    out += "\n|---|";
    out += &"---|".repeat(columns.len());
    for from in StageKind::ALL {
        out += &format!("\n| **{from}** |");
        for to in columns {
            let may = from.permission(*to);
            let cell: String = [(may.submit, 's'), (may.wait, 'w'), (may.r#await, 'a')]
                .into_iter()
                .filter_map(|(allowed, letter)| allowed.then_some(letter))
                .collect();
            out += &format!(" {} |", if cell.is_empty() { "-" } else { &cell });
        }
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_never_closes_a_cycle() {
        for from in StageKind::ALL {
            for to in StageKind::ALL {
                assert!(
                    !(from.permission(to).wait && to.permission(from).wait),
                    "{from} and {to} wait for each other"
                );
            }
        }
    }

    #[test]
    fn the_three_levels_are_those_of_the_architecture() {
        use StageKind::*;
        for kind in [Application, Dedicated, Executor, Maintenance, Mixed] {
            assert_eq!(kind.level(), Level::A);
            for below in [Event, Generic, Io, Partition, Query, Fragment, Flow, Cpu] {
                assert!(kind.permission(below).wait, "{kind} may wait for {below}");
            }
        }
        for kind in [Event, Generic] {
            assert_eq!(kind.level(), Level::B);
        }
        for kind in [Io, Partition, Query, Fragment, Flow, Cpu] {
            assert_eq!(kind.level(), Level::C);
            assert!(StageKind::ALL.iter().all(|to| !kind.permission(*to).wait), "{kind} never blocks");
        }
    }

    #[test]
    fn computation_starts_nothing_that_may_block() {
        assert!(!StageKind::Cpu.permission(StageKind::Mixed).submit);
        assert!(StageKind::Mixed.permission(StageKind::Cpu).submit);
        assert!(StageKind::Mixed.permission(StageKind::Cpu).wait);
    }
}
