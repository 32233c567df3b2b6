//! A chore as a list of named steps: a headline and the seconds of each, a stop at the first failure, and a last line that
//! says which step failed and how to repeat it alone.

use crate::invocation::Invocation;
use crate::options::Options;
use crate::workspace::Workspace;
use std::time::{Duration, Instant};

/// How often a step that reports progress says that it still runs.
const PROGRESS_EVERY: Duration = Duration::from_secs(60);

/// How often the end of such a step is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A look with bounds of the caller's in it.
type BoundedCheck = Box<dyn Fn(&Workspace) -> Result<(), String>>;

/// One thing a step does.
pub(crate) enum Action {
    /// Calls cargo.
    Run(Invocation),
    /// Looks at the files itself; an error is the message for the user.
    Check(fn(&Workspace) -> Result<(), String>),
    /// Runs tests, and gives those that passed only the second time.
    Test(fn(&Workspace) -> Result<Vec<String>, String>),
    /// Checks something within bounds that the caller gave.
    Bounded(BoundedCheck),
}

/// A named part of a chore.
pub(crate) struct Step {
    name: &'static str,
    about: &'static str,
    actions: Vec<Action>,
}

impl Step {
    /// A step that calls cargo, once or several times.
    pub(crate) fn run(
        name: &'static str,
        about: &'static str,
        calls: impl IntoIterator<Item = Invocation>,
    ) -> Self {
        Self { name, about, actions: calls.into_iter().map(Action::Run).collect() }
    }

    /// A step that this program does itself.
    pub(crate) fn check(
        name: &'static str,
        about: &'static str,
        check: fn(&Workspace) -> Result<(), String>,
    ) -> Self {
        Self { name, about, actions: vec![Action::Check(check)] }
    }

    /// A step that runs tests, and gives those that are unsteady: they are named and counted at the end of the chore.
    pub(crate) fn test(
        name: &'static str,
        about: &'static str,
        test: fn(&Workspace) -> Result<Vec<String>, String>,
    ) -> Self {
        Self { name, about, actions: vec![Action::Test(test)] }
    }

    /// A step that this program does itself, with bounds from the options.
    pub(crate) fn bounded(
        name: &'static str,
        about: &'static str,
        check: impl Fn(&Workspace) -> Result<(), String> + 'static,
    ) -> Self {
        Self { name, about, actions: vec![Action::Bounded(Box::new(check))] }
    }

    /// The word for `--only` and `--skip`.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }
}

/// The names of the steps and what each does, for the help.
pub(crate) fn list(steps: &[Step]) -> String {
    steps.iter().map(|step| format!("  {:<13} {}\n", step.name, step.about)).collect()
}

/// Runs the steps that the options want, in order. With `progress`, a step that takes minutes says so every minute.
pub(crate) fn run_all(
    chore: &str,
    workspace: &Workspace,
    steps: &[Step],
    options: &Options,
    progress: bool,
) -> Result<(), String> {
    let wanted: Vec<&Step> = steps.iter().filter(|step| options.wants(step.name)).collect();
    if wanted.is_empty() {
        return Err(format!("{chore}: no step is left to run"));
    }
    let begin = Instant::now();
    let (mut times, mut unsteady) = (Vec::new(), None);
    for (index, step) in wanted.iter().enumerate() {
        println!("\n== {chore} {}/{}: {} - {}", index + 1, wanted.len(), step.name, step.about);
        let start = Instant::now();
        for action in &step.actions {
            let outcome = match action {
                Action::Check(check) => check(workspace),
                Action::Bounded(check) => check(workspace),
                Action::Test(test) => {
                    test(workspace).map(|found| unsteady.get_or_insert_with(Vec::new).extend(found))
                }
                Action::Run(invocation) => {
                    println!("   {invocation}");
                    if progress {
                        run_with_progress(step.name, invocation, workspace)
                    } else {
                        invocation.run(workspace)
                    }
                }
            };
            if let Err(error) = outcome {
                let seconds = start.elapsed().as_secs_f64();
                print!("{}", counted(unsteady.as_deref()));
                return Err(failure(chore, step.name, seconds, &error));
            }
        }
        println!("== {} passed in {:.1} s", step.name, start.elapsed().as_secs_f64());
        times.push(format!("{} {:.1}", step.name, start.elapsed().as_secs_f64()));
    }
    println!("\n{chore}: {} step(s) passed in {:.1} s", wanted.len(), begin.elapsed().as_secs_f64());
    println!("seconds: {}", times.join(", "));
    print!("{}", counted(unsteady.as_deref()));
    Ok(())
}

/// What is said of unsteady tests at the end, where tests ran at all.
fn counted(unsteady: Option<&[String]>) -> String {
    let Some(unsteady) = unsteady else { return String::new() };
    let mut text = format!("unsteady tests (passed only the second time): {}\n", unsteady.len());
    for test in unsteady {
        text += &format!("  {test}\n");
    }
    text
}

/// The last words of a chore that failed.
fn failure(chore: &str, step: &str, seconds: f64, error: &str) -> String {
    format!(
        "\n{error}\n{chore}: step {step} failed after {seconds:.1} s; repeat it with: cargo xtask {chore} --only {step}"
    )
}

fn run_with_progress(step: &str, invocation: &Invocation, workspace: &Workspace) -> Result<(), String> {
    let start = Instant::now();
    let mut next = PROGRESS_EVERY;
    let mut child = invocation.start(workspace)?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(format!("{invocation} ended with {status}")),
            Ok(None) => std::thread::park_timeout(LOOK_EVERY),
            Err(error) => return Err(format!("{invocation} was lost: {error}")),
        }
        if start.elapsed() >= next {
            println!("   ... {step} has run for {} s", start.elapsed().as_secs());
            next += PROGRESS_EVERY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static RAN: AtomicUsize = AtomicUsize::new(0);

    #[test]
    fn stops_at_the_first_failure_and_says_how_to_repeat_it() {
        let workspace = Workspace::find().unwrap();
        let steps = [
            Step::check("good", "passes", |_| {
                RAN.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }),
            Step::check("bad", "fails", |_| Err("a reason".to_owned())),
            Step::check("late", "never runs", |_| {
                RAN.fetch_add(100, Ordering::Relaxed);
                Ok(())
            }),
        ];
        let error = run_all("verify", &workspace, &steps, &Options::default(), false).unwrap_err();
        assert_eq!(RAN.load(Ordering::Relaxed), 1);
        assert!(error.contains("a reason"));
        let last = error.lines().last().unwrap();
        assert!(last.starts_with("verify: step bad failed after"), "{last}");
        assert!(last.ends_with("cargo xtask verify --only bad"), "{last}");
    }

    #[test]
    fn unsteady_tests_are_counted_but_fail_nothing() {
        let workspace = Workspace::find().unwrap();
        let steps = [Step::test("test", "one is unsteady", |_| Ok(vec!["-p a --lib: b".to_owned()]))];
        run_all("verify", &workspace, &steps, &Options::default(), false).unwrap();
        assert_eq!(counted(None), "");
        assert!(counted(Some(&[])).ends_with(": 0\n"));
        let named = counted(Some(&["-p a --lib: b".to_owned()]));
        assert!(named.ends_with(": 1\n  -p a --lib: b\n"), "{named}");
    }

    #[test]
    fn nothing_to_run_is_an_error() {
        let workspace = Workspace::find().unwrap();
        let steps = [Step::check("good", "passes", |_| Ok(()))];
        let options = Options { skip: vec!["good".to_owned()], ..Options::default() };
        assert!(run_all("verify", &workspace, &steps, &options, false).is_err());
    }
}
