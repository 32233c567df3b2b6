//! Runs the scripts of others: DataFusion's own, and SQLite's `select1` to `select5`.
//!
//! They are not kept here. `cargo xtask long --only sqllogic --checkout <path>` runs those of a checkout; `FILBERT_SQLLOGIC` is the list of
//! checkouts for this test. Every statement that is accepted must give the answer that its script says, or stand in `known.txt` with the
//! reason. What is refused is counted by its message. Each script has an engine of its own and a folder that it may write to.
//!
//! DataFusion's scripts name files by their place below the checkout; they are read where they are, and written elsewhere. The plans of
//! `EXPLAIN` are not compared, since ours are cut into fragments.

use crate::cells::Dialect;
use crate::known::KnownAnswers;
use crate::outcome::{Outcome, outcome};
use crate::report::Report;
use crate::script::{self, Record};
use filbert_pool::Stages;
use filbert_sql::{Sql, SqlError, SqlSettings};
use futures::executor::block_on;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a statement may take.
const LIMIT: Duration = Duration::from_secs(120);

/// Lines of an answer that are shown.
const SHOWN: usize = 30;

/// The scripts of a checkout.
struct Suite {
    name: &'static str,
    dialect: Dialect,
    checkout: PathBuf,
    /// Each with the name that it has in the list and in messages.
    scripts: Vec<(String, PathBuf)>,
}

impl Suite {
    fn find(checkout: &Path) -> Result<Self, String> {
        let checkout = checkout.canonicalize().map_err(|error| format!("{}: {error}", checkout.display()))?;
        let kinds = [
            ("datafusion", Dialect::DataFusion, "datafusion/sqllogictest/test_files", "**/*.slt"),
            ("sqlite", Dialect::Sqlite, "test", "select[1-5].test"),
        ];
        for (name, dialect, folder, pattern) in kinds {
            let folder = checkout.join(folder);
            let pattern = folder.join(pattern).display().to_string();
            let found = glob::glob(&pattern).map_err(|error| error.to_string())?;
            let mut paths: Vec<_> = found.filter_map(Result::ok).collect();
            paths.sort();
            let named = paths.into_iter().map(|path| {
                let inside = path.strip_prefix(&folder).unwrap_or(&path);
                (format!("{name}/{}", inside.display()), path)
            });
            let mut scripts: Vec<_> = named.collect();
            if !scripts.is_empty() {
                // What a run before wrote there is no script.
                scripts.retain(|(name, _)| !name.contains("/scratch/"));
                return Ok(Self { name, dialect, checkout, scripts });
            }
        }
        Err(format!(
            "{}: there is neither datafusion/sqllogictest/test_files nor test/select1.test in it",
            checkout.display()
        ))
    }

    fn run(&self, only: Option<&str>, known: &KnownAnswers) -> Report {
        let mut report = Report::default();
        for (name, path) in &self.scripts {
            if only.is_some_and(|only| !name.contains(only)) {
                continue;
            }
            if let Some(reason) = known.reason_to_leave_out(name) {
                println!("{name}: left out: {reason}");
                report.left_out += 1;
                continue;
            }
            let (tried, passed) = (report.tried, report.passed);
            report.files += 1;
            match script::read(path, name) {
                Ok(records) => self.run_script(name, &records, known, &mut report),
                Err(error) => report.wrong.push(error),
            }
            println!("{name}: {} of {}", report.passed - passed, report.tried - tried);
        }
        report
    }

    fn run_script(&self, name: &str, records: &[Record], known: &KnownAnswers, report: &mut Report) {
        let scratch = tempfile::tempdir().unwrap();
        let place = scratch.path().canonicalize().unwrap().display().to_string();
        let stages = Stages::builder().set("fragment.threads", 4).start().unwrap();
        let settings = SqlSettings {
            files: vec![self.checkout.clone(), scratch.path().into()],
            write_files: vec![scratch.path().into()],
            ..Default::default()
        };
        let sql = Sql::start(&stages, settings).unwrap();
        let session = sql.session().with_time_limit(Some(LIMIT));
        let places = match self.dialect {
            // A length in the type of a column is refused, and no text there is longer.
            Dialect::Sqlite => vec![("VARCHAR(30)".to_owned(), "VARCHAR".to_owned())],
            _ => places(&self.checkout, &place),
        };
        for record in records {
            make_folders(&record.text, &places, &place);
            report.tried += 1;
            let problem = match outcome(&session, record, self.dialect, &places) {
                Outcome::Right => {
                    report.passed += 1;
                    continue;
                }
                Outcome::Refused(error @ (SqlError::Panicked { .. } | SqlError::TimedOut { .. })) => {
                    error.to_string()
                }
                Outcome::Refused(error) => {
                    report.refuse(&record.place, &error.to_string());
                    continue;
                }
                Outcome::Wrong(problem) => problem,
            };
            match known.reason_to_differ(name, &record.text) {
                Some(reason) => report.know(reason),
                None => report.fail(format!(
                    "{}:\n{}\nwanted: {:?}\n{}\n",
                    record.place,
                    record.text,
                    record.wanted,
                    problem.lines().take(SHOWN).collect::<Vec<_>>().join("\n")
                )),
            }
        }
        drop(session);
        block_on(sql.end_jobs());
    }
}

/// Where DataFusion's scripts look for files, which they run beside.
fn places(checkout: &Path, scratch: &str) -> Vec<(String, String)> {
    let root = checkout.display().to_string();
    let tests = format!("{root}/datafusion/sqllogictest");
    let places = [
        (
            "WORKSPACE_ROOT/datafusion/sqllogictest/test_files/scratch",
            scratch.trim_start_matches('/').to_owned(),
        ),
        ("WORKSPACE_ROOT", root.trim_start_matches('/').to_owned()),
        ("'../../", format!("'{root}/")),
        ("'../", format!("'{root}/datafusion/")),
        ("'test_files/scratch/", format!("'{scratch}/")),
        ("'test_files/", format!("'{tests}/test_files/")),
        ("'data/", format!("'{tests}/data/")),
    ];
    places.map(|(named, real)| (named.to_owned(), real)).into()
}

/// Makes the folders that a statement writes to: here nobody makes them for it.
fn make_folders(text: &str, places: &[(String, String)], scratch: &str) {
    let text = places.iter().fold(text.to_owned(), |text, (named, real)| text.replace(named, real));
    let named = text.split('\'').filter(|part| part.starts_with(scratch));
    for path in named {
        let folder = path.rsplit_once('/').map_or(path, |(folder, _)| folder);
        std::fs::create_dir_all(folder).unwrap();
    }
}

#[test]
#[ignore = "needs checkouts of others: cargo xtask long --only sqllogic --checkout <path>"]
fn the_scripts_of_others_give_their_answers_or_are_known_to_differ() {
    let checkouts = std::env::var_os("FILBERT_SQLLOGIC").expect("FILBERT_SQLLOGIC names no checkout");
    let only = std::env::var("FILBERT_SLT").ok();
    let known = KnownAnswers::read(include_str!("known.txt")).unwrap();
    let suites: Vec<_> = std::env::split_paths(&checkouts).map(|path| Suite::find(&path).unwrap()).collect();
    let mut wrong = Vec::new();
    for suite in &suites {
        let report = suite.run(only.as_deref(), &known);
        println!("\n== {}{report}", suite.name);
        wrong.extend(report.wrong);
        // Of some scripts of a suite there is less to know.
        if only.is_none() {
            wrong.extend(known.miscounted(suite.name));
        }
    }
    assert!(wrong.is_empty(), "{} answers are wrong:\n\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_folder_without_scripts_is_no_checkout() {
    let folder = tempfile::tempdir().unwrap();
    let error = Suite::find(folder.path()).err().unwrap();
    assert!(error.contains("neither"), "{error}");
    std::fs::create_dir(folder.path().join("test")).unwrap();
    std::fs::write(
        folder.path().join("test/select1.test"),
        "query I nosort\nSELECT 1\n----\n2\n\nstatement ok\nSELEC\n\nstatement ok\nSELECT 1\n",
    )
    .unwrap();
    let suite = Suite::find(folder.path()).unwrap();
    let known = KnownAnswers::read("").unwrap();
    let report = suite.run(None, &known);
    assert_eq!((report.files, report.tried, report.passed, report.wrong.len()), (1, 3, 1, 1));
    let known = KnownAnswers::read("= because\nsqlite/select1.test  1  ^select 1").unwrap();
    let report = suite.run(None, &known);
    assert!(report.wrong.is_empty() && known.miscounted("sqlite").is_empty());
    assert!(report.to_string().contains("1  because"), "{report}");
    let known = KnownAnswers::read("= because\n- sqlite/*").unwrap();
    assert_eq!(suite.run(None, &known).left_out, 1);
}
