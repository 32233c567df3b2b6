//! Every setting of every stage, once: key, default, range and meaning.
//!
//! The builder, the TOML reader, the validation messages, `filbert stages` and the documentation all read this table, so
//! none of them can disagree with another.

use super::fields::unit;

/// How a default comes about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standard {
    /// A plain number.
    Number(u64),
    /// A multiple of the machine's cores.
    PerCore(u64),
    /// A word out of [`Setting::words`].
    Word(&'static str),
}

/// One setting.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// `<stage>.<name>`; `executor.*.<name>` holds for every named executor.
    pub key: &'static str,
    /// Its value when nothing is said.
    pub standard: Standard,
    /// The smallest and largest number it takes.
    pub range: (u64, u64),
    /// The words it takes, if it is not a number.
    pub words: &'static [&'static str],
    /// What it means.
    pub about: &'static str,
}

const THREADS: (u64, u64) = (1, 1_024);
const CAPACITY: (u64, u64) = (1, 100_000_000);
const MILLIS: (u64, u64) = (0, 3_600_000);

const fn number(key: &'static str, standard: u64, range: (u64, u64), about: &'static str) -> Setting {
    Setting { key, standard: Standard::Number(standard), range, words: &[], about }
}

const fn per_core(key: &'static str, standard: u64, about: &'static str) -> Setting {
    Setting { key, standard: Standard::PerCore(standard), range: THREADS, words: &[], about }
}

const fn word(
    key: &'static str,
    standard: &'static str,
    words: &'static [&'static str],
    about: &'static str,
) -> Setting {
    Setting { key, standard: Standard::Word(standard), range: (0, 0), words, about }
}

/// The table.
pub const SETTINGS: &[Setting] = &[
    number("io.threads", 3, THREADS, "event loops for sockets"),
    number("io.capacity", 65_536, CAPACITY, "connections and other tasks that live at a time, for each loop"),
    number("io.slow_ms", 100, MILLIS, "report a task that keeps a loop longer; 0 = never"),
    per_core("partition.threads", 2, "threads for operations on partitions"),
    number("partition.mailbox_capacity", 100_000, CAPACITY, "operations that wait for one strand"),
    number("partition.strands", 1_024, (1, 1_048_576), "strands that hashed keys share"),
    number(
        "partition.takeover_ms",
        2,
        MILLIS,
        "idle threads take the strands behind a task that runs longer; 0 = off",
    ),
    number(
        "partition.overload_ms",
        5_000,
        MILLIS,
        "new operations are refused while work that was there before has waited longer; 0 = never",
    ),
    number("partition.slow_ms", 100, MILLIS, "report an operation that takes longer; 0 = never"),
    per_core("generic.threads", 2, "threads for operations without a partition, and for callbacks"),
    number("generic.capacity", 1_000_000, CAPACITY, "operations that wait for a thread"),
    word("generic.when_full", "refuse", &["wait", "refuse"], "what a submit does when the queue is full"),
    number("generic.slow_ms", 0, MILLIS, "report an operation that takes longer; 0 = never"),
    number("event.threads", 5, THREADS, "threads for listeners and topics"),
    number("event.capacity", 1_000_000, CAPACITY, "events that wait, of all topics together"),
    number(
        "event.reserved_per_topic",
        1_000,
        CAPACITY,
        "of these, kept free for each topic (at most half, shared evenly)",
    ),
    number(
        "event.offer_timeout_ms",
        250,
        MILLIS,
        "how long an offer waits for room before its event is dropped",
    ),
    number(
        "event.takeover_ms",
        2,
        MILLIS,
        "idle threads take the topics behind a listener that runs longer; 0 = off",
    ),
    number("event.slow_ms", 100, MILLIS, "report a listener that takes longer; 0 = never"),
    number("executor.*.threads", 16, THREADS, "threads of this executor alone"),
    number("executor.*.capacity", 100_000, CAPACITY, "tasks that wait for a thread of this executor"),
    word("executor.*.when_full", "refuse", &["wait", "refuse"], "what a submit does when the queue is full"),
    number("executor.*.slow_ms", 0, MILLIS, "report a task that takes longer; 0 = never"),
    per_core("query.threads", 1, "threads for control messages of queries"),
    number("query.mailbox_capacity", 100_000, CAPACITY, "messages that wait for one query"),
    number("query.strands", 1_024, (1, 1_048_576), "strands that hashed keys share"),
    number(
        "query.takeover_ms",
        2,
        MILLIS,
        "idle threads take the queries behind a message that runs longer; 0 = off",
    ),
    number("query.slow_ms", 100, MILLIS, "report a message that takes longer; 0 = never"),
    per_core("fragment.threads", 1, "workers for query fragments"),
    number(
        "fragment.capacity",
        1_000_000,
        CAPACITY,
        "closures that wait; and, counted apart, tasklets and futures that are not done",
    ),
    number(
        "fragment.spare_threads",
        8,
        (0, 1_024),
        "more workers, each made while another one is held up; 0 = none",
    ),
    number("fragment.held_up_ms", 10, MILLIS, "a worker in a turn that takes longer is held up; 0 = never"),
    number("fragment.slow_ms", 0, MILLIS, "report a turn that takes longer; 0 = never"),
    per_core("flow.threads", 1, "workers for tasklets of dataflow jobs"),
    number(
        "flow.capacity",
        1_000_000,
        CAPACITY,
        "closures that wait; and, counted apart, tasklets and futures that are not done",
    ),
    number("flow.slow_ms", 0, MILLIS, "report a turn that takes longer; 0 = never"),
    per_core("cpu.threads", 1, "workers for pure computation"),
    number(
        "cpu.capacity",
        1_000_000,
        CAPACITY,
        "closures that wait; and, counted apart, tasklets and futures that are not done",
    ),
    number(
        "cpu.min_leaf",
        10_000,
        CAPACITY,
        "elements of a range that are worth a task of their own, on every work-stealing stage",
    ),
    number("cpu.slow_ms", 0, MILLIS, "report a task that takes longer; 0 = never"),
    per_core("mixed.threads", 1, "threads that poll futures"),
    number("mixed.blocking_threads", 512, (1, 16_384), "threads for blocking closures, made when needed"),
    number("maintenance.threads", 8, THREADS, "threads for refreshes and housekeeping, made when needed"),
    number("dedicated.threads", 256, (1, 16_384), "threads for long-running blocking work, one each"),
    number("shutdown.within_ms", 30_000, MILLIS, "how long a draining shutdown may take before it cancels"),
    number("shutdown.leave_ms", 5_000, MILLIS, "how long threads may take to end once nothing is left to do"),
];

/// The row of a key, `executor.<any>.threads` included.
pub fn find(key: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| matches(setting.key, key))
}

fn matches(pattern: &str, key: &str) -> bool {
    match (pattern.strip_prefix("executor.*."), key.strip_prefix("executor.")) {
        (Some(name), Some(rest)) => rest.rsplit_once('.').is_some_and(|(_, last)| last == name),
        (None, None) => pattern == key,
        _ => false,
    }
}

/// The table as Markdown, for the documentation.
pub fn markdown() -> String {
    let mut out = String::from("| Setting | Default | Range | Meaning |\n|---|---|---|---|\n");
    for setting in SETTINGS {
        let standard = match setting.standard {
            Standard::Number(number) => number.to_string(),
            Standard::PerCore(1) => "cores".to_owned(),
            Standard::PerCore(factor) => format!("{factor} x cores"),
            Standard::Word(word) => format!("\"{word}\""),
        };
        let range = match setting.words {
            [] => {
                let unit = unit(setting.key).map(|unit| format!(" {unit}")).unwrap_or_default();
                format!("{} to {}{unit}", setting.range.0, setting.range.1)
            }
            words => words.join(", "),
        };
        out += &format!("| `{}` | {standard} | {range} | {} |\n", setting.key, setting.about);
    }
    out
}
