//! `filbert job`: runs an example job on a member of its own, shows its progress, its result, and where its DAG was held up.
//!
//! The jobs are those of `examples/`, word by word: what one reads there is what runs here.

mod observe;
mod report;

#[path = "../../../examples/custom.rs"]
#[expect(dead_code, reason = "an example is a program of its own as well")]
mod custom;
#[path = "../../../examples/enrich.rs"]
#[expect(dead_code, reason = "an example is a program of its own as well")]
mod enrich;
#[path = "../../../examples/map_to_map.rs"]
#[expect(dead_code, reason = "an example is a program of its own as well")]
mod map_to_map;
#[path = "../../../examples/windowed.rs"]
#[expect(dead_code, reason = "an example is a program of its own as well")]
mod windowed;
#[path = "../../../examples/word_count.rs"]
#[expect(dead_code, reason = "an example is a program of its own as well")]
mod word_count;

use super::Outcome;
use filbert::connect::channel;
use filbert::flow::event_time::InWindow;
use filbert::flow::processors::Collected;
use filbert::{Dag, Member, Shutdown};
use observe::Observed;
use report::Report;
use std::io::{IsTerminal, Write};

/// The options of `filbert job`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    example: Example,
    /// JSON: one object with the result and all metrics.
    #[arg(long, global = true)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  filbert job word-count README.md 'docs/**/*.md'
  filbert job word-count big.txt --top 5 --json
  filbert job enrich --orders 5000000
  filbert job windowed
  filbert job map-to-map
  filbert job custom";

#[derive(Debug, clap::Subcommand)]
enum Example {
    /// Counts the words of files, folders and patterns.
    WordCount {
        /// Files, folders, or patterns in quotes.
        #[arg(required = true)]
        files: Vec<String>,
        /// How many words are shown.
        #[arg(long, default_value_t = 20)]
        top: usize,
    },
    /// Joins orders with products out of a map.
    Enrich {
        /// How many orders.
        #[arg(long, default_value_t = 1_000_000)]
        orders: u64,
    },
    /// Counts clicks in windows of a second, while they are sent.
    Windowed {
        /// How many clicks, a millisecond apart.
        #[arg(long, default_value_t = 10_000)]
        clicks: u32,
    },
    /// Reads a map and writes another.
    MapToMap {
        /// How many entries.
        #[arg(long, default_value_t = 100_000)]
        entries: u32,
    },
    /// A processor of one's own.
    Custom {
        /// How many numbers it gets.
        #[arg(long, default_value_t = 1_000_000)]
        numbers: u64,
    },
}

/// The result of a job: a name and a number each.
type Rows = Vec<(String, u64)>;

/// A job that can be run, and how its result is read when it is over.
type Ready = (Dag, Box<dyn FnOnce(&Member) -> Result<Rows, Box<dyn std::error::Error>>>);

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let is_watched = std::io::stderr().is_terminal() && !arguments.json;
    run_to(arguments, is_watched, &mut std::io::stdout().lock())
}

fn run_to(arguments: &Arguments, is_watched: bool, out: &mut impl Write) -> Outcome {
    let member = Member::start()?;
    let (dag, result) = ready(&arguments.example, &member)?;
    let Observed { job, ended, elapsed, fullest } = observe::run(&member, &dag, is_watched)?;
    let rows = match &ended {
        Ok(()) => result(&member)?,
        Err(_) => Vec::new(),
    };
    let report =
        Report { name: job.name(), status: job.status(), elapsed, rows, metrics: job.metrics(), fullest };
    if arguments.json {
        report.write_json(out)?
    } else {
        report.write(out)?
    }
    member.shutdown(Shutdown::Drain)?;
    Ok(ended?)
}

fn ready(example: &Example, member: &Member) -> Result<Ready, Box<dyn std::error::Error>> {
    Ok(match example {
        Example::WordCount { files, top } => {
            let (counts, top) = (Collected::new(), *top);
            let dag = word_count::word_count(files, &counts)?.to_dag()?;
            (dag, Box::new(move |_| Ok(word_count::top(&counts, top))))
        }
        Example::Enrich { orders } => {
            enrich::prepare(member)?;
            let pieces = Collected::new();
            let dag = enrich::enrich(member.grid(), *orders, &pieces).to_dag()?;
            (dag, Box::new(move |_| Ok(sorted(pieces.take()))))
        }
        Example::Windowed { clicks } => {
            let (sender, source) = channel::source(1024);
            let (counts, clicks) = (Collected::new(), i64::from(*clicks));
            let dag = windowed::windowed(source, &counts).to_dag()?;
            member
                .stages()
                .mixed()
                .submit("clicks", move || windowed::send_clicks(&sender, clicks))?
                .detach();
            let shown = |window: InWindow<&str, u64>| {
                (format!("{:>6} to {:>6} ms, {}", window.start, window.end, window.key), window.result)
            };
            (dag, Box::new(move |_| Ok(sorted(counts.take().into_iter().map(shown).collect()))))
        }
        Example::MapToMap { entries } => {
            map_to_map::prepare(member, i64::from(*entries))?;
            let dag = map_to_map::map_to_map(member.grid())?;
            let result = |member: &Member| {
                let size = member.map::<i64, String>("roots").size().wait()?;
                Ok(vec![("entries written".to_owned(), size)])
            };
            (dag, Box::new(result))
        }
        Example::Custom { numbers } => {
            let runs = Collected::new();
            let dag = custom::custom(*numbers, &runs)?;
            let shown = |(digits, length): (u64, u64)| (format!("{digits:>2} binary digits"), length);
            (dag, Box::new(move |_| Ok(sorted(runs.take().into_iter().map(shown).collect()))))
        }
    })
}

fn sorted(mut rows: Rows) -> Rows {
    rows.sort();
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_json(example: Example) -> serde_json::Value {
        let mut out = Vec::new();
        run_to(&Arguments { example, json: true }, false, &mut out).unwrap();
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn words_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "A rose is a rose,\n").unwrap();
        std::fs::write(folder.path().join("b.txt"), "is a rose").unwrap();
        let files = vec![folder.path().join("*.txt").to_string_lossy().into_owned()];
        let said = run_json(Example::WordCount { files: files.clone(), top: 2 });
        assert_eq!(said["result"], serde_json::json!([["a", 3], ["rose", 3]]));
        assert_eq!(said["status"], "completed");
        let mut out = Vec::new();
        run_to(&Arguments { example: Example::WordCount { files, top: 9 }, json: false }, true, &mut out)
            .unwrap();
        let text = String::from_utf8(out).unwrap();
        for word in ["rose", "word count", "partitioned", "busy", "blocked"] {
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn orders_are_enriched() {
        let said = run_json(Example::Enrich { orders: 15 });
        // Of every five orders four have a product; pieces go 1, 2, 3.
        let expected = (0..15_u64).filter(|n| n % 5 != 4).map(|n| n % 3 + 1).sum::<u64>();
        let rows = said["result"].as_array().unwrap();
        assert_eq!(rows.len(), 4);
        assert_eq!(rows.iter().map(|row| row[1].as_u64().unwrap()).sum::<u64>(), expected);
    }

    #[test]
    fn clicks_are_counted_in_windows() {
        let said = run_json(Example::Windowed { clicks: 3_000 });
        let rows = said["result"].as_array().unwrap();
        assert_eq!(rows.len(), 9, "{said}");
        assert_eq!(rows.iter().map(|row| row[1].as_u64().unwrap()).sum::<u64>(), 3_000);
        assert_eq!(rows[0], serde_json::json!(["     0 to   1000 ms, cart", 333]));
    }

    #[test]
    fn a_map_is_turned_around() {
        let said = run_json(Example::MapToMap { entries: 1_000 });
        assert_eq!(said["result"], serde_json::json!([["entries written", 1_000]]));
        assert_eq!(said["edges"][1]["items"], 1_000);
    }

    #[test]
    fn runs_are_measured() {
        let said = run_json(Example::Custom { numbers: 8 });
        let expected = serde_json::json!([
            [" 0 binary digits", 1],
            [" 1 binary digits", 1],
            [" 2 binary digits", 2],
            [" 3 binary digits", 4]
        ]);
        assert_eq!(said["result"], expected);
    }

    #[test]
    fn a_job_that_fails_is_reported_and_fails_the_command() {
        let example = Example::WordCount { files: vec!["/nowhere/at/all.txt".to_owned()], top: 1 };
        let mut out = Vec::new();
        let failed = run_to(&Arguments { example, json: true }, false, &mut out).unwrap_err().to_string();
        assert!(failed.contains("/nowhere/at/all.txt"), "{failed}");
        let said: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(said["status"], "failed");
    }
}
