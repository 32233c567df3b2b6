use super::*;

fn problems(text: &str) -> Vec<String> {
    Settings::from_toml(text).unwrap_err().problems
}

/// Two threads a core where tasks may wait for each other, one where they compute: see the table of settings.
#[test]
fn defaults_fit_what_a_stage_does() {
    let settings = Settings::new();
    let expected = [
        ("io.threads", 3),
        ("partition.threads", 2 * cores()),
        ("generic.threads", 2 * cores()),
        ("event.threads", 5),
        ("event.capacity", 1_000_000),
        ("event.offer_timeout_ms", 250),
        ("query.threads", cores()),
        ("cpu.threads", cores()),
        ("cpu.min_leaf", 10_000),
    ];
    for (key, value) in expected {
        assert_eq!(settings.number(key), value, "{key}");
    }
    assert_eq!(settings.number("executor.any.threads"), 16);
}

#[test]
fn zero_threads_and_absurd_capacities_are_refused_by_name() {
    assert_eq!(
        problems("[partition]\nthreads = 0"),
        ["partition.threads = 0: must be 1 to 1024 (threads for operations on partitions)"]
    );
    let absurd = problems("[event]\ncapacity = 9000000000000000000");
    assert!(
        absurd[0].starts_with("event.capacity = 9000000000000000000: must be 1 to 100000000"),
        "{absurd:?}"
    );
    assert!(problems("[cpu]\nthreads = -1")[0].contains("must not be negative"));
}

#[test]
fn what_is_neither_a_number_nor_a_word_is_refused_and_a_list_not_shown() {
    let right = "must be a whole number or a word in quotes";
    assert_eq!(problems("[cpu]\nthreads = 1.5"), [format!("cpu.threads = 1.5: {right}")]);
    let list = problems("[cpu]\nthreads = [{ password = 'sesame' }]");
    assert_eq!(list, [format!("cpu.threads is a list: {right}")]);
}

#[test]
fn an_unknown_key_names_the_nearest_one() {
    assert_eq!(
        problems("[partition]\nthread = 3"),
        ["partition.thread: no such setting; did you mean partition.threads?"]
    );
    assert!(problems("[turbo]\nboost = 9")[0].contains("filbert stages --settings"));
}

#[test]
fn every_problem_is_reported_at_once() {
    let found = problems(
        "[cpu]\nthreads = 0\n[event]\ncapacity = 10\nreserved_per_topic = 11\n[generic]\nwhen_full = \"panic\"",
    );
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found
            .iter()
            .any(|line| line == "generic.when_full = \"panic\": must be one of \"wait\" or \"refuse\"")
    );
    assert!(
        found.iter().any(|line| line.starts_with("event.reserved_per_topic = 11: must not be more than"))
    );
}

#[test]
fn an_executor_is_declared_once() {
    let mut settings = Settings::new();
    settings.add_executor("reports");
    settings.add_executor("reports");
    let error = settings.check().unwrap_err();
    assert!(error.to_string().contains("two executors of that name"), "{error}");
    assert!(problems("[executor.a]\nthreads = 1\n[executor.a]\nthreads = 2")[0].contains("not TOML"));
}

#[test]
fn a_setting_of_an_undeclared_executor_is_refused() {
    let mut settings = Settings::new();
    settings.set("executor.reports.threads", 4);
    assert!(settings.check().unwrap_err().problems[0].contains("there is no executor reports"));
}

#[test]
fn words_and_executors_are_read() {
    let settings =
        Settings::from_toml("[executor.reports]\nthreads = 4\nwhen_full = \"wait\"\n[executor.mail]")
            .unwrap();
    assert_eq!(settings.executors().collect::<Vec<_>>(), ["mail", "reports"]);
    assert_eq!(settings.word("executor.reports.when_full"), "wait");
    assert_eq!(settings.word("executor.mail.when_full"), "refuse");
}

#[test]
fn every_default_is_in_its_own_range() {
    for setting in table::SETTINGS {
        match setting.standard {
            Standard::Number(number) => {
                assert!((setting.range.0..=setting.range.1).contains(&number), "{}", setting.key)
            }
            Standard::Word(word) => assert!(setting.words.contains(&word), "{}", setting.key),
            Standard::PerCore(_) => {}
        }
    }
}
