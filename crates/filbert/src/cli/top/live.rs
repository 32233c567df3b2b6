//! The loop of `filbert top`: draws, waits for a key, a look, a new size or a signal, and draws again.
//!
//! Looks are made on stage `mixed`, so a member that does not answer holds up no key. Whatever comes is put into a
//! channel, and a byte into a pipe wakes the loop, which waits for the pipe and the keyboard together.

use super::keys::{Key, Keys};
use super::look::{History, Look};
use super::page::{View, screen};
use super::terminal::Terminal;
use crate::cli::Outcome;
use crate::cli::http_page::Source;
use filbert::Stages;
use std::future::poll_fn;
use std::io::{self, PipeWriter, Write};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::task::Poll;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// The most looks in a row that may fail; one may, when a member is busy or starts again.
const FAILURES: u32 = 5;

/// Something that the loop is told.
enum Event {
    /// A tick: another look is due.
    Due,
    /// The status of the member, or why there is none.
    Status(Result<String, String>),
    /// The terminal has another size.
    Resized,
    /// The process is told to end.
    End,
}

/// Tells the loop something, from any thread.
#[derive(Clone)]
struct Teller {
    events: Sender<Event>,
    waker: Arc<PipeWriter>,
}

impl Teller {
    fn tell(&self, event: Event) {
        // The loop has ended: nobody wants to know.
        let _ = self.events.send(event);
        let _ = (&*self.waker).write_all(b"!");
    }

    /// Tells of a new size, and of signals that end the process.
    fn heed_signals(&self, stages: &Stages) -> io::Result<()> {
        let teller = self.clone();
        let installed = stages.io().spawn("install signal handlers", async move {
            let mut resized = signal(SignalKind::window_change())?;
            let ends = [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()].map(signal);
            let mut ends = ends.into_iter().collect::<io::Result<Vec<_>>>()?;
            Ok::<_, io::Error>(poll_fn(move |context| {
                while let Poll::Ready(Some(())) = resized.poll_recv(context) {
                    teller.tell(Event::Resized);
                }
                for end in &mut ends {
                    while let Poll::Ready(Some(())) = end.poll_recv(context) {
                        teller.tell(Event::End);
                    }
                }
                Poll::<()>::Pending
            }))
        });
        let heeds = installed.map_err(io::Error::other)?.wait().map_err(io::Error::other)??;
        stages.io().spawn("heed signals", heeds).map_err(io::Error::other)?.detach();
        Ok(())
    }

    /// Looks at the member, and tells what it says.
    fn look(&self, stages: &Stages, source: &Arc<Source>) -> io::Result<()> {
        let (teller, source) = (self.clone(), Arc::clone(source));
        let look = move || teller.tell(Event::Status(source.status().map_err(|error| error.to_string())));
        stages.mixed().submit("look", look).map_err(io::Error::other)?.detach();
        Ok(())
    }
}

/// The state of the loop.
struct State {
    history: History,
    look: Look,
    view: View,
    failures: u32,
}

impl State {
    /// Takes in the next status; fails when too many in a row failed.
    fn take(&mut self, status: Result<String, String>) -> Result<(), String> {
        match status.and_then(|status| self.history.next(&status)) {
            Ok(look) => {
                self.look = look;
                (self.view.trouble, self.failures) = (None, 0);
                Ok(())
            }
            Err(error) => {
                self.failures += 1;
                if self.failures >= FAILURES {
                    return Err(error);
                }
                // Names and texts of others do nothing to a terminal.
                let why = error.replace(|letter: char| letter.is_control(), "?");
                let failures = self.failures;
                self.view.trouble =
                    Some(format!("NOT NOW ({failures} of {FAILURES}): {why}; what follows is older"));
                Ok(())
            }
        }
    }
}

/// Shows looks until the user quits, the process is told to end, or the member is away.
pub(super) fn run(stages: &Stages, source: Source, every: u64, history: History, look: Look) -> Outcome {
    let source = Arc::new(source);
    let (events, told) = channel();
    let (mut woken, waker) = io::pipe()?;
    let teller = Teller { events, waker: Arc::new(waker) };
    teller.heed_signals(stages)?;
    let mut state = State { history, look, view: View::default(), failures: 0 };
    let due = || {
        let teller = teller.clone();
        stages.clock().after(Duration::from_secs(every), move || teller.tell(Event::Due));
    };
    due();
    let terminal = Terminal::open()?;
    let (mut keys, mut is_due) = (Keys::default(), false);
    loop {
        terminal.draw(&screen(&state.look, &mut state.view, terminal.size()))?;
        let waited = terminal.wait(&mut woken)?;
        if waited.is_over {
            return Ok(());
        }
        for key in keys.read(&waited.keys) {
            if key == Key::Quit {
                return Ok(());
            }
            state.view.press(key, &state.look);
        }
        for event in told.try_iter() {
            match event {
                Event::Due => is_due = true,
                Event::Status(status) => {
                    state.take(status)?;
                    due();
                }
                Event::Resized => {}
                Event::End => return Ok(()),
            }
        }
        if is_due && !state.view.is_paused {
            is_due = false;
            teller.look(stages, &source)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_fails_is_shown_and_only_many_in_a_row_end_it() {
        let status = |second: u64| Ok(format!(r#"{{"version": "1", "uptime_seconds": {second}}}"#));
        let mut history = History::default();
        let look = history.next(&status(0).unwrap()).unwrap();
        let mut state = State { history, look, view: View::default(), failures: 0 };
        for second in 1..3 {
            for _ in 1..FAILURES {
                state.take(Err("nobody\nthere".to_owned())).unwrap();
                let trouble = state.view.trouble.as_deref().unwrap();
                assert!(trouble.contains("nobody?there"), "{trouble}");
            }
            state.take(status(second)).unwrap();
            assert_eq!((&state.view.trouble, state.failures), (&None, 0));
        }
        for _ in 1..FAILURES {
            state.take(Ok("no member".to_owned())).unwrap();
        }
        assert!(state.take(Err("nobody there".to_owned())).is_err());
    }
}
