//! The line on a terminal that says how far something is, and the wait that it is shown in.

use super::Outcome;
use super::progress_bar::bar;
use super::screen_size::screen_size;
use filbert::pool::Clock;
use filbert::{TaskError, TaskFuture};
use std::cell::Cell;
use std::error::Error;
use std::io::Write;
use std::time::Duration;

/// How often somebody looks up while nothing comes.
pub(super) const EVERY: Duration = Duration::from_millis(50);

/// What takes less is not worth a line of progress.
const SOON: Duration = Duration::from_millis(500);

/// Replaces the line on the terminal. Nobody is told when that does not work: it is for looking only.
pub(super) fn show(line: &str) {
    let mut terminal = std::io::stderr().lock();
    let _ = write!(terminal, "\r\x1b[K{line}").and_then(|()| terminal.flush());
}

/// Something that takes a while, and who looks at it.
pub(super) struct Progress {
    clock: Clock,
    began: Duration,
    is_watched: Cell<bool>,
    is_shown: Cell<bool>,
}

impl Progress {
    /// Of something that begins now.
    pub(super) fn begin(clock: &Clock, is_watched: bool) -> Self {
        let (clock, began) = (clock.clone(), clock.now());
        Self { clock, began, is_watched: Cell::new(is_watched), is_shown: Cell::new(false) }
    }

    /// How long it takes so far.
    pub(super) fn elapsed(&self) -> Duration {
        self.clock.now().saturating_sub(self.began)
    }

    /// Says how far it is, when it takes long enough for that.
    pub(super) fn show(&self, how_far: impl FnOnce() -> String) {
        let elapsed = self.elapsed();
        if self.is_watched.get() && elapsed >= SOON {
            show(&format!("running: {:.1} s, {}; Ctrl-C cancels", elapsed.as_secs_f64(), how_far()));
            self.is_shown.set(true);
        }
    }

    /// Says how many of so many bytes are done, when it takes long enough for that.
    pub(super) fn show_bytes(&self, done: u64, total: u64) {
        let elapsed = self.elapsed();
        if self.is_watched.get() && elapsed >= SOON {
            // A line that wraps could not be replaced.
            let width = screen_size().map_or(80, |(width, _)| width).saturating_sub(1);
            show(&bar(done, total, elapsed, width));
            self.is_shown.set(true);
        }
    }

    /// Takes the line away.
    pub(super) fn hide(&self) {
        if self.is_shown.take() {
            show("");
        }
    }

    /// Says no more: a line would stand among what is written now.
    pub(super) fn end(&self) {
        self.hide();
        self.is_watched.set(false);
    }
}

/// Waits for what is done on another thread, and calls `watch` meanwhile; an error of that cancels it.
pub(super) fn wait<T: Send + 'static>(
    mut coming: TaskFuture<T>,
    watch: &mut dyn FnMut() -> Outcome,
) -> Result<T, Box<dyn Error>> {
    loop {
        if let Err(given_up) = watch() {
            coming.cancel();
            return Err(given_up);
        }
        match coming.wait_timeout(EVERY) {
            Err(TaskError::TimedOut { .. }) => {}
            done => return Ok(done?),
        }
    }
}
