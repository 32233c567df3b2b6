//! The shell: reads statements from a terminal until it is told to end. What goes wrong with one is said, and the next is read.
//!
//! Lines are edited by `rustyline` (feature `shell`), chosen over `reedline` because it brings three crates and not fourteen. Without the
//! feature plain lines are read; then the terminal's own editing has to do.

mod catalog;
#[cfg_attr(not(any(test, feature = "shell")), expect(dead_code, reason = "plain lines are not completed"))]
mod completion;
#[cfg(feature = "shell")]
#[path = "editor.rs"]
mod lines;
#[cfg(not(feature = "shell"))]
#[path = "plain.rs"]
mod lines;

use super::super::Outcome;
use super::super::input::Input;
use super::super::interruption::Interrupted;
use super::super::is_broken_pipe;
use super::super::tell::tell;
use super::engine::Engine;
use super::interpreter::{Interpreter, Then};
use super::splitter::Splitter;
use completion::Names;
use filbert::pool::Clock;
use lines::Lines;
use std::cell::RefCell;
use std::io;
use std::rc::Rc;

/// Finds what can be named, the columns of these files too; asked again only when a statement may have changed it.
type FindNames = Box<dyn Fn(&[String]) -> Names>;

/// What stands before the first line of a statement, and before the others.
const PROMPT: &str = "filbert> ";
const CONTINUED: &str = "      -> ";

/// Reads and runs until the end; names are completed as `engine` knows them.
pub(super) fn run(
    greeting: &str,
    engine: Rc<RefCell<dyn Engine>>,
    clock: Clock,
    interpreter: &mut Interpreter,
) -> Outcome {
    println!("{greeting} End a statement with a semicolon; help for help, quit to end.");
    let find_names: FindNames =
        Box::new(move |files| catalog::names(&mut *engine.borrow_mut(), &clock, files));
    let mut lines = Lines::open(find_names)?;
    read_on(|| lines.read(), interpreter)
}

/// Runs what is read; what goes wrong with it ends nothing but itself.
fn read_on(mut read: impl FnMut() -> io::Result<Input>, interpreter: &mut Interpreter) -> Outcome {
    loop {
        let text = match read()? {
            Input::Text(text) => text,
            Input::Interrupted => continue,
            Input::End => return Ok(()),
        };
        interpreter.runner.begin();
        match interpreter.text(&text) {
            Ok(Then::GoOn) => {}
            Ok(Then::Quit) => return Ok(()),
            Err(error) if is_broken_pipe(&*error) => return Err(error),
            Err(error) if error.is::<Interrupted>() => tell("cancelled"),
            Err(error) => tell(format_args!("error: {error}")),
        }
    }
}

/// True when nothing more has to be typed: every statement has ended.
fn is_whole(text: &str) -> bool {
    let mut splitter = Splitter::new();
    splitter.push(&format!("{text}\n"));
    !splitter.is_within_statement()
}

#[cfg(test)]
mod tests {
    use super::super::super::interruption::Interruption;
    use super::super::engine::Local;
    use super::super::print::Format;
    use super::super::runner::{Output, Runner};
    use super::*;
    use filbert::Member;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    /// What was written, for another thread to read.
    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Mistakes and Ctrl-C are no reason to end; Ctrl-D and \q are.
    #[test]
    fn a_shell_goes_on_until_it_is_told_to_end() {
        let member = Member::start().unwrap();
        let interruption = Interruption::default();
        let endless = "SELECT count(*) FROM generate_series(1, 10000000) a, generate_series(1, 10000000) b;";
        for last in [None, Some("\\q")] {
            let written = Written::default();
            let engine = Rc::new(RefCell::new(Local::new(&member)));
            let runner = Runner::new(&member, engine, interruption.clone(), Format::Csv);
            let output = Output { to: Box::new(written.clone()), is_terminal: false, format: None };
            let mut interpreter = Interpreter::new(runner, output, 1 << 20);
            let told = interruption.clone();
            let mut inputs = vec![
                Input::Text("SELECT nonsense;".to_owned()),
                Input::Interrupted,
                Input::Text("\\nonsense".to_owned()),
                Input::Text("SELECT 1 AS a; SELECT 2 AS b;".to_owned()),
                Input::Text(endless.to_owned()),
                Input::Text("SELECT 3 AS c;".to_owned()),
            ];
            inputs.extend(last.map(|text| Input::Text(text.to_owned())));
            let mut inputs = inputs.into_iter();
            let read = || {
                let next = inputs.next().unwrap_or(Input::End);
                if matches!(&next, Input::Text(text) if text == endless) {
                    let told = told.clone();
                    member.stages().clock().after(Duration::from_millis(100), move || told.tell("SIGINT"));
                }
                Ok(next)
            };
            read_on(read, &mut interpreter).unwrap();
            assert_eq!(String::from_utf8(written.0.lock().unwrap().clone()).unwrap(), "a\n1\nb\n2\nc\n3\n");
        }
    }

    #[test]
    fn a_statement_is_whole_with_its_semicolon() {
        for text in [
            "",
            "  ",
            "SELECT 1;",
            "SELECT 1; SELECT 2; -- two",
            "\\d",
            "\\d t",
            "-- nothing",
            "help",
            "exit",
        ] {
            assert!(is_whole(text), "{text}");
        }
        for text in ["SELECT 1", "SELECT 1; SELECT", "SELECT ';", "/* ;", "SELECT 1 -- ;", "SELECT $$;"] {
            assert!(!is_whole(text), "{text}");
        }
    }
}
