//! `filbert job`: runs an example job on a member of its own, shows its progress, its result, and where its DAG was held up.
//!
//! The jobs are those of `examples/`, word by word: what one reads there is what runs here.

mod drawing;
mod observe;
mod report;

pub(super) use drawing::in_order;

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
use super::interruption::Interruption;
use filbert::connect::channel;
use filbert::flow::event_time::InWindow;
use filbert::flow::processors::Collected;
use filbert::{Dag, Member, Shutdown};
use observe::Observed;
use report::{Report, Rows};
use serde_json::json;
use std::error::Error;
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
    /// Prints the DAG as a Mermaid flowchart, for Markdown pages, and runs nothing.
    #[arg(long, global = true, conflicts_with = "json")]
    mermaid: bool,
}

const EXAMPLES: &str = "Examples:
  filbert job word-count README.md 'docs/**/*.md'
  filbert job word-count big.txt --top 5 --json
  filbert job enrich --orders 5000000
  filbert job windowed
  filbert job map-to-map
  filbert job custom
  filbert job enrich --mermaid

Ctrl-C cancels a job; what it did until then is reported. A second one ends it at once.";

#[derive(Debug, clap::Subcommand)]
enum Example {
    /// Counts the words of files, folders and patterns.
    WordCount {
        /// Files, folders (the files right in them; `**` reaches further down), or patterns in quotes.
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
    /// Counts the clicks on each page in windows of a second, by the time that the clicks carry.
    Windowed {
        /// How many clicks; by their own time a millisecond apart, sent as fast as the job takes them.
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

/// A job that can be run: what it needs before, and how its result is read when it is over.
struct Ready {
    dag: Dag,
    prepare: Box<dyn FnOnce(&Member) -> Outcome>,
    result: Box<dyn FnOnce(&Member) -> Answer>,
}

/// What a job found out.
type Answer = Result<Rows, Box<dyn Error>>;

pub(super) fn run(arguments: &Arguments) -> Outcome {
    let member = Member::start()?;
    let interruption = Interruption::heeded_by(&member)?;
    let is_watched = std::io::stderr().is_terminal() && !arguments.json;
    run_to(arguments, &member, is_watched, &interruption, &mut std::io::stdout().lock())
}

fn run_to(
    arguments: &Arguments,
    member: &Member,
    is_watched: bool,
    interruption: &Interruption,
    out: &mut impl Write,
) -> Outcome {
    let Ready { dag, prepare, result } = ready(&arguments.example, member)?;
    if arguments.mermaid {
        write!(out, "{}", dag.to_mermaid())?;
        return Ok(());
    }
    prepare(member)?;
    let Observed { job, ended, elapsed } = observe::run(member, &dag, is_watched, interruption)?;
    // A signal that came when all was done already has cancelled nothing.
    let ended = match (ended, interruption.interrupted()) {
        (Ok(()), _) => Ok(()),
        (Err(_), Some(interrupted)) => Err(interrupted.into()),
        (Err(error), None) => Err(Box::<dyn Error>::from(error)),
    };
    let result = if ended.is_ok() { result(member)? } else { Rows::default() };
    let error = ended.as_ref().err().map(ToString::to_string);
    let report =
        Report { name: job.name(), status: job.status(), error, elapsed, result, metrics: job.metrics() };
    if arguments.json {
        report.write_json(out)?
    } else {
        report.write(out)?
    }
    member.shutdown(Shutdown::Drain)?;
    ended
}

fn ready(example: &Example, member: &Member) -> Result<Ready, Box<dyn Error>> {
    Ok(match example {
        Example::WordCount { files, top } => {
            let (counts, top) = (Collected::new(), *top);
            Ready {
                dag: word_count::word_count(files, &counts)?.to_dag()?,
                prepare: Box::new(|_| Ok(())),
                result: Box::new(move |_| {
                    let rows = word_count::top(&counts, top);
                    let rows =
                        rows.into_iter().map(|(word, count)| vec![json!(word), json!(count)]).collect();
                    Ok(Rows { columns: &["word", "count"], rows })
                }),
            }
        }
        Example::Enrich { orders } => {
            let pieces = Collected::new();
            Ready {
                dag: enrich::enrich(member.grid(), *orders, &pieces).to_dag()?,
                prepare: Box::new(enrich::prepare),
                result: Box::new(move |_| {
                    let rows = sorted(pieces.take());
                    let rows =
                        rows.into_iter().map(|(name, pieces)| vec![json!(name), json!(pieces)]).collect();
                    Ok(Rows { columns: &["product", "pieces"], rows })
                }),
            }
        }
        Example::Windowed { clicks } => {
            let (sender, source) = channel::source(1024);
            let (counts, clicks) = (Collected::new(), i64::from(*clicks));
            let row = |InWindow { start, end, key, result }: InWindow<&str, u64>| {
                vec![json!(start), json!(end), json!(key), json!(result)]
            };
            Ready {
                dag: windowed::windowed(source, &counts).to_dag()?,
                prepare: Box::new(move |member| {
                    let send = move || windowed::send_clicks(&sender, clicks);
                    member.stages().mixed().submit("clicks", send)?.detach();
                    Ok(())
                }),
                result: Box::new(move |_| {
                    let rows = sorted(counts.take()).into_iter().map(row).collect();
                    Ok(Rows { columns: &["from ms", "to ms", "page", "clicks"], rows })
                }),
            }
        }
        Example::MapToMap { entries } => {
            let entries = i64::from(*entries);
            Ready {
                dag: map_to_map::map_to_map(member.grid())?,
                prepare: Box::new(move |member| map_to_map::prepare(member, entries)),
                result: Box::new(|member| {
                    let of = |map: &str| Ok::<_, Box<dyn Error>>(member.map::<i64, i64>(map).size().wait()?);
                    let row = |map: &str| Ok::<_, Box<dyn Error>>(vec![json!(map), json!(of(map)?)]);
                    Ok(Rows { columns: &["map", "entries"], rows: vec![row("squares")?, row("roots")?] })
                }),
            }
        }
        Example::Custom { numbers } => {
            let runs = Collected::new();
            Ready {
                dag: custom::custom(*numbers, &runs)?,
                prepare: Box::new(|_| Ok(())),
                result: Box::new(move |_| {
                    let rows = sorted(runs.take());
                    let rows = rows.into_iter().map(|(digits, numbers)| vec![json!(digits), json!(numbers)]);
                    Ok(Rows { columns: &["binary digits", "numbers"], rows: rows.collect() })
                }),
            }
        }
    })
}

fn sorted<T: Ord>(mut rows: Vec<T>) -> Vec<T> {
    rows.sort();
    rows
}

#[cfg(test)]
mod tests {
    use super::super::interruption::Interrupted;
    use super::*;
    use serde_json::Value;

    /// How it ended, and what was written.
    fn run_as(example: Example, json: bool, mermaid: bool, interruption: &Interruption) -> (Outcome, String) {
        let member = Member::start().unwrap();
        let mut out = Vec::new();
        let ended = run_to(&Arguments { example, json, mermaid }, &member, false, interruption, &mut out);
        (ended, String::from_utf8(out).unwrap())
    }

    fn run_json(example: Example) -> Value {
        let (ended, said) = run_as(example, true, false, &Interruption::default());
        ended.unwrap();
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&said["status"], &said["error"]), (&json!("completed"), &Value::Null));
        said
    }

    #[test]
    fn words_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.txt"), "A rose is a rose,\n").unwrap();
        std::fs::write(folder.path().join("b.txt"), "is a rose").unwrap();
        let files = vec![folder.path().join("*.txt").to_string_lossy().into_owned()];
        let said = run_json(Example::WordCount { files: files.clone(), top: 2 });
        assert_eq!(said["result"], json!([{ "word": "a", "count": 3 }, { "word": "rose", "count": 3 }]));
        let names: Vec<&str> =
            said["vertices"].as_array().unwrap().iter().map(|v| v["name"].as_str().unwrap()).collect();
        // From the source on, whatever the order in which the planner makes them.
        assert_eq!(names.first(), Some(&"words"), "{said}");
        let (ended, text) =
            run_as(Example::WordCount { files, top: 9 }, false, false, &Interruption::default());
        ended.unwrap();
        assert!(text.trim_start().starts_with("word  count"), "{text}");
        for word in ["rose", "word count", "partitioned", "busy %", "other %", "└─► ", "back-pressure"]
        {
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
        assert_eq!(rows.iter().map(|row| row["pieces"].as_u64().unwrap()).sum::<u64>(), expected);
        assert_eq!(rows[0]["product"], "almond");
    }

    #[test]
    fn clicks_are_counted_in_windows() {
        let said = run_json(Example::Windowed { clicks: 3_000 });
        let rows = said["result"].as_array().unwrap();
        assert_eq!(rows.len(), 9, "{said}");
        assert_eq!(rows.iter().map(|row| row["clicks"].as_u64().unwrap()).sum::<u64>(), 3_000);
        assert_eq!(rows[0], json!({ "from_ms": 0, "to_ms": 1_000, "page": "cart", "clicks": 333 }));
        // Watermarks travel with the clicks, and are none.
        assert!(said["edges"].as_array().unwrap().iter().any(|edge| edge["items"] == 3_000), "{said}");
    }

    #[test]
    fn a_map_is_turned_around() {
        let said = run_json(Example::MapToMap { entries: 1_000 });
        let maps = json!([{ "map": "squares", "entries": 1_000 }, { "map": "roots", "entries": 1_000 }]);
        assert_eq!(said["result"], maps);
        assert_eq!(said["edges"][1]["items"], 1_000);
        assert!(said["edges"][1]["fullest"].is_f64(), "{said}");
    }

    #[test]
    fn runs_are_measured() {
        let said = run_json(Example::Custom { numbers: 8 });
        let row = |digits: u64, numbers: u64| json!({ "binary_digits": digits, "numbers": numbers });
        assert_eq!(said["result"], json!([row(0, 1), row(1, 1), row(2, 2), row(3, 4)]));
    }

    #[test]
    fn a_job_that_fails_is_reported_and_fails_the_command() {
        let example = || Example::WordCount { files: vec!["/nowhere/at/all.txt".to_owned()], top: 1 };
        let (failed, said) = run_as(example(), true, false, &Interruption::default());
        let failed = failed.unwrap_err().to_string();
        assert!(failed.contains("/nowhere/at/all.txt"), "{failed}");
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!((&said["status"], &said["error"]), (&json!("failed"), &json!(failed)));
        // Nothing happened: there is nothing to show but the error.
        let (failed, said) = run_as(example(), false, false, &Interruption::default());
        assert!(failed.is_err());
        assert_eq!(said, "");
    }

    #[test]
    fn a_job_that_is_interrupted_says_so() {
        let interruption = Interruption::default();
        interruption.tell("SIGTERM");
        let (ended, said) = run_as(Example::Custom { numbers: u64::MAX }, true, false, &interruption);
        assert_eq!(ended.unwrap_err().downcast_ref::<Interrupted>().map(Interrupted::status), Some(143));
        let said: Value = serde_json::from_str(&said).unwrap();
        assert_eq!(said["status"], "cancelled");
        assert!(said["error"].as_str().unwrap().contains("SIGTERM"), "{said}");
    }

    #[test]
    fn the_dag_is_drawn_and_not_run() {
        let (ended, said) =
            run_as(Example::Enrich { orders: u64::MAX }, false, true, &Interruption::default());
        ended.unwrap();
        assert!(said.starts_with("flowchart") && said.contains("products"), "{said}");
    }
}
