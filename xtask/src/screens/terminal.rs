//! A pseudo-terminal of a given size with a program in it, and what it would show.

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::pty::{Winsize, openpty};
use std::num::NonZero;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Nothing that is shown takes as long, also on a machine that is busy and with a debug build.
const DEADLINE: Duration = Duration::from_secs(120);

/// Columns and lines of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) columns: NonZero<u16>,
    pub(super) lines: NonZero<u16>,
}

impl Size {
    /// Makes a size of numbers that are not zero.
    pub(super) const fn new(columns: u16, lines: u16) -> Self {
        let (columns, lines) = (NonZero::new(columns), NonZero::new(lines));
        Self {
            columns: columns.expect("a terminal has columns"),
            lines: lines.expect("a terminal has lines"),
        }
    }
}

/// A terminal with a program in it, which ends with it.
pub(super) struct Terminal {
    outside: OwnedFd,
    child: Child,
    screen: vt100::Parser,
    size: Size,
    /// Everything that the program wrote.
    written: Vec<u8>,
    is_over: bool,
}

impl Terminal {
    /// Starts a command in a new terminal.
    pub(super) fn start(mut command: Command, size: Size) -> Result<Self, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{command:?}: no terminal: {error}");
        let window =
            Winsize { ws_row: size.lines.get(), ws_col: size.columns.get(), ws_xpixel: 0, ws_ypixel: 0 };
        let ends = openpty(&window, None).map_err(|error| failed(&error))?;
        let (inside, copy) = (&ends.slave, || ends.slave.try_clone());
        let input = inside.try_clone().map_err(|error| failed(&error))?;
        let (output, errors) =
            (copy().map_err(|error| failed(&error))?, copy().map_err(|error| failed(&error))?);
        command
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .env_remove("COLUMNS")
            .env_remove("LINES")
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output))
            .stderr(Stdio::from(errors));
        let child = command.spawn().map_err(|error| format!("{command:?} cannot be started: {error}"))?;
        // The ends inside are the child's alone from here on, so that their end is noticed.
        drop(command);
        let screen = empty(size);
        Ok(Self { outside: ends.master, child, screen, size, written: Vec::new(), is_over: false })
    }

    /// Types a text, as if by hand.
    pub(super) fn type_text(&self, text: &str) -> Result<(), String> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            match nix::unistd::write(&self.outside, rest) {
                Ok(count) => rest = &rest[count..],
                Err(Errno::EINTR) => {}
                Err(error) => return Err(format!("the terminal takes no keys: {error}")),
            }
        }
        Ok(())
    }

    /// Waits until the screen is as it should be.
    pub(super) fn wait_for(&mut self, what: &str, is_there: impl Fn(&Self) -> bool) -> Result<(), String> {
        let begin = Instant::now();
        while !is_there(self) {
            if self.is_over || begin.elapsed() > DEADLINE {
                let why = if self.is_over { "the program ended" } else { "it took too long" };
                return Err(format!("no {what} on the terminal: {why}; it shows\n{}", self.text()));
            }
            self.read()?;
        }
        Ok(())
    }

    /// Waits until the program has ended, and then for its status.
    pub(super) fn wait_for_end(&mut self) -> Result<(), String> {
        let begin = Instant::now();
        while !self.is_over {
            if begin.elapsed() > DEADLINE {
                return Err(format!("the program does not end; the terminal shows\n{}", self.text()));
            }
            self.read()?;
        }
        match self.child.wait() {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => {
                Err(format!("the program ended with {status}; the terminal shows\n{}", self.text()))
            }
            Err(error) => Err(format!("the program is lost: {error}")),
        }
    }

    /// Takes in what the program has written, and waits a moment for it.
    fn read(&mut self) -> Result<(), String> {
        let failed = |error: Errno| format!("the terminal cannot be read: {error}");
        let mut ends = [PollFd::new(self.outside.as_fd(), PollFlags::POLLIN)];
        match poll(&mut ends, PollTimeout::from(100_u8)) {
            Ok(0) | Err(Errno::EINTR) => return Ok(()),
            ready => ready.map_err(failed)?,
        };
        let mut bytes = [0; 4_096];
        match nix::unistd::read(&self.outside, &mut bytes) {
            // The system says so when nobody has the inside of the terminal any more.
            Ok(0) | Err(Errno::EIO) => self.is_over = true,
            Ok(count) => {
                self.screen.process(&bytes[..count]);
                self.written.extend_from_slice(&bytes[..count]);
            }
            Err(Errno::EINTR | Errno::EAGAIN) => {}
            Err(error) => return Err(failed(error)),
        }
        Ok(())
    }

    /// Returns the lines of the screen.
    pub(super) fn text(&self) -> String {
        self.screen.screen().contents()
    }

    /// Counts how often the program wrote a text, which may be a command to the terminal.
    pub(super) fn count(&self, text: &str) -> usize {
        self.written.windows(text.len()).filter(|part| *part == text.as_bytes()).count()
    }

    /// Returns the screen as it is now.
    pub(super) fn screen(&self) -> vt100::Screen {
        self.screen.screen().clone()
    }

    /// Returns the screen as it was before the first line with this text.
    pub(super) fn screen_before(&self, text: &str) -> Result<vt100::Screen, String> {
        let mut screen = empty(self.size);
        for line in self.written.split_inclusive(|byte| *byte == b'\n') {
            if String::from_utf8_lossy(line).contains(text) {
                return Ok(screen.screen().clone());
            }
            screen.process(line);
        }
        Err(format!("the program never wrote {text:?}; the terminal shows\n{}", self.text()))
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn empty(size: Size) -> vt100::Parser {
    vt100::Parser::new(size.lines, size.columns, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Size = Size::new(20, 5);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_sees_the_size_and_the_keys() {
        let mut terminal = Terminal::start(shell("stty size; read line; echo got $line"), SMALL).unwrap();
        terminal.wait_for("size", |terminal| terminal.text().contains("5 20")).unwrap();
        terminal.type_text("hello\r").unwrap();
        terminal.wait_for("answer", |terminal| terminal.text().contains("got hello")).unwrap();
        terminal.wait_for_end().unwrap();
    }

    #[test]
    fn what_never_comes_is_told_with_the_screen() {
        let mut terminal = Terminal::start(shell("echo other; exit 3"), SMALL).unwrap();
        let error = terminal.wait_for("prompt", |terminal| terminal.text().contains("prompt")).unwrap_err();
        assert!(error.contains("no prompt") && error.contains("other"), "{error}");
        assert!(terminal.wait_for_end().unwrap_err().contains("status: 3"));
    }

    #[test]
    fn the_screen_of_an_earlier_moment_is_there() {
        let mut terminal = Terminal::start(shell("seq 1 30"), SMALL).unwrap();
        terminal.wait_for_end().unwrap();
        assert_eq!(terminal.screen_before("10").unwrap().contents(), "6\n7\n8\n9");
        assert!(terminal.screen_before("31").is_err());
    }
}
