//! Waits for SIGTERM, SIGINT or SIGHUP, for programs that serve until they are told to end.
//!
//! The handlers are installed by a task of stage `io`, whose runtime they belong to, and [`Member::end_signal`] returns only when they
//! are in place: a signal that comes after a program has said that it is ready is never the system's default, which is to die. Stage `io`
//! and not `mixed`: what waits there does not hold up the end of a member that nobody sends a signal to.
//!
//! A SIGHUP has two meanings. From a terminal that is closed it says that nobody looks on any more: the program ends in order. A process that
//! was started without a terminal, as services and containers are, gets it from an operator who wants the settings read again. Which of both is
//! decided when the handlers are installed: a process whose terminal is gone cannot tell any more that it had one.
//!
//! A SIGHUP that was ignored when the process was started stays ignored: `nohup filbert start &` asks to outlive the terminal. The system tells
//! what is ignored in `/proc/self/status`. Asking `sigaction` would need unsafe code.

use crate::member::Member;
use filbert_pool::{SubmitError, TaskError, TaskFuture};
use std::io;
use std::task::Poll;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Becomes ready when the process is told to end, see [`Member::end_signal`].
#[derive(Debug)]
#[must_use = "call `wait`"]
pub struct EndSignal {
    told: TaskFuture<&'static str>,
}

/// The effect of a SIGHUP on a process that waits with [`Member::end_signal_or_reload`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HangUp {
    /// The process was started with SIGHUP ignored (`nohup`).
    Ignored,
    /// The process has no terminal: its settings are read again.
    Reloads,
    /// The process has a terminal, which was closed: it ends.
    Ends,
}

impl HangUp {
    /// Finds out what a SIGHUP does to this process.
    pub fn of_process() -> Self {
        if ignores_hang_up() {
            HangUp::Ignored
        } else if has_terminal() {
            HangUp::Ends
        } else {
            HangUp::Reloads
        }
    }
}

impl Member {
    /// From here on SIGTERM, SIGINT and SIGHUP end the process no longer; they are what the result waits for. A SIGHUP that was ignored
    /// (`nohup`) stays ignored. For a program that serves until it is told to end; call it from a thread of the program's own.
    ///
    /// ```no_run
    /// use filbert::{Member, Shutdown};
    ///
    /// let member = Member::start()?;
    /// let end = member.end_signal()?;
    /// println!("ready");
    /// println!("{}, draining", end.wait()?);
    /// member.shutdown(Shutdown::Drain)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn end_signal(&self) -> io::Result<EndSignal> {
        let mut signals = self.install_signals()?;
        let wait = async move { signals.next().await };
        let told = self.stages().io().spawn("wait for a signal", wait).map_err(not_running)?;
        Ok(EndSignal { told })
    }

    /// As [`Member::end_signal`], but in a process that was started without a terminal a SIGHUP calls `reload` instead, as often as it comes,
    /// until the result is ready. It is called on stage `io` and must not block.
    pub fn end_signal_or_reload(&self, reload: impl FnMut() + Send + 'static) -> io::Result<EndSignal> {
        let mut signals = self.install_signals()?;
        let is_service = HangUp::of_process() == HangUp::Reloads;
        let mut reload = reload;
        let wait = async move {
            loop {
                match signals.next().await {
                    "SIGHUP" if is_service => reload(),
                    end => return end,
                }
            }
        };
        let told = self.stages().io().spawn("wait for a signal", wait).map_err(not_running)?;
        Ok(EndSignal { told })
    }

    /// As [`Member::end_signal`], for a program that does not wait: calls `told` with the name of every such signal, the second one too.
    /// It is called on stage `io`, so that it is heard however busy the others are, and must not block.
    pub fn on_end_signals(&self, told: impl FnMut(&'static str) + Send + 'static) -> io::Result<()> {
        let signals = self.install_signals()?;
        self.stages().io().spawn("heed signals", signals.tell(told)).map_err(not_running)?.detach();
        Ok(())
    }

    fn install_signals(&self) -> io::Result<Signals> {
        let signals = self.stages().io().spawn("install signal handlers", async { Signals::install() });
        signals.map_err(not_running)?.wait().map_err(ended)?
    }
}

impl EndSignal {
    /// Waits until the process is told to end; gives the name of the signal. Fails when the member was ended otherwise.
    pub fn wait(self) -> io::Result<&'static str> {
        self.told.wait().map_err(ended)
    }

    /// Calls `then` with the name of the signal when the process is told to end, on the `generic` stage; never when the member was ended
    /// otherwise.
    pub fn on_told(self, then: impl FnOnce(&'static str) + Send + 'static) {
        self.told.on_complete(|told| {
            if let Ok(signal) = told {
                then(signal);
            }
        });
    }
}

fn not_running(error: SubmitError) -> io::Error {
    io::Error::other(error)
}

fn ended(error: TaskError) -> io::Error {
    io::Error::other(error)
}

struct Signals {
    terminate: Signal,
    /// `None` when it is ignored.
    hang_up: Option<Signal>,
    interrupt: Signal,
}

impl Signals {
    fn install() -> io::Result<Self> {
        // SIGINT is the last: who waits until it is handled knows that all are.
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: if ignores_hang_up() { None } else { Some(signal(SignalKind::hangup())?) },
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn tell(mut self, mut told: impl FnMut(&'static str)) {
        loop {
            told(self.next().await);
        }
    }

    async fn next(&mut self) -> &'static str {
        std::future::poll_fn(|context| {
            if self.terminate.poll_recv(context).is_ready() {
                Poll::Ready("SIGTERM")
            } else if self.hang_up.as_mut().is_some_and(|signal| signal.poll_recv(context).is_ready()) {
                Poll::Ready("SIGHUP")
            } else if self.interrupt.poll_recv(context).is_ready() {
                Poll::Ready("SIGINT")
            } else {
                Poll::Pending
            }
        })
        .await
    }
}

/// True when the process ignores SIGHUP. Where the system does not tell, it does not.
fn ignores_hang_up() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| is_ignored(&status, SignalKind::hangup()))
}

/// Returns true when the process has a controlling terminal. Where the system does not tell, it has: a SIGHUP then ends it, which is what it does to
/// most programs.
fn has_terminal() -> bool {
    std::fs::read_to_string("/proc/self/stat").map_or(true, |stat| names_terminal(&stat))
}

/// Reads the number of the controlling terminal in the text of `/proc/self/stat`: the fifth field behind the name of the process, 0 for none.
fn names_terminal(stat: &str) -> bool {
    let behind_name = stat.rsplit_once(')').map(|(_, fields)| fields);
    behind_name.and_then(|fields| fields.split_whitespace().nth(4)).is_none_or(|terminal| terminal != "0")
}

/// Reads the set of ignored signals in the text of `/proc/self/status`: a bit each, SIGHUP (1) is the lowest.
fn is_ignored(status: &str, signal: SignalKind) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|set| u64::from_str_radix(set.trim(), 16).ok()).unwrap_or(0);
    ignored >> (signal.as_raw_value() - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert_pool::Shutdown;

    #[test]
    fn ignored_signals_are_told_from_others() {
        let status =
            |set: &str| format!("SigBlk:\t0000000000000003\nSigIgn:\t{set}\nSigCgt:\t0000000000000003\n");
        for (set, is) in [("0000000000000001", true), ("0000000000001001", true), ("0000000000001006", false)]
        {
            assert_eq!(is_ignored(&status(set), SignalKind::hangup()), is, "{set}");
        }
        assert!(is_ignored(&status("0000000000000002"), SignalKind::interrupt()));
        assert!(!is_ignored("Name:\tfilbert\n", SignalKind::hangup()));
    }

    #[test]
    fn a_process_with_a_terminal_is_told_from_one_without() {
        assert!(!names_terminal("7 (a ) b) S 1 7 7 0 -1 4194560"));
        assert!(names_terminal("7 (filbert) S 1 7 7 34816 7 4194560"));
        assert!(names_terminal("what is this"));
    }

    #[test]
    fn a_signal_that_never_comes_holds_up_no_shutdown() {
        let member = Member::start().unwrap();
        let end = member.end_signal().unwrap();
        let report = member.shutdown(Shutdown::Drain).unwrap();
        assert_eq!(report.cut_short, Vec::<&str>::new());
        assert!(end.wait().is_err());
    }
}
