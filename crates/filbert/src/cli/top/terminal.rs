//! A terminal that a program takes over, and gives back as it was, however the program ends.

use super::page::{Line, Size, Style};
use crate::cli::screen_size::screen_size;
use crate::cli::sql::print::Paint;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::termios::{
    InputFlags, LocalFlags, SetArg, SpecialCharacterIndices, Termios, tcgetattr, tcsetattr,
};
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::AsFd;

/// Another screen than that of the shell, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";

/// The terminal of the standard input and output, taken over until this is dropped.
pub(super) struct Terminal {
    before: Termios,
    paint: Paint,
}

/// The outcome of a wait.
#[derive(Debug, Default)]
pub(super) struct Waited {
    /// The bytes of keys.
    pub(super) keys: Vec<u8>,
    /// The standard input has ended: the terminal is gone.
    pub(super) is_over: bool,
}

impl Terminal {
    /// Takes the terminal over: keys come at once, unseen, and Ctrl-C is one of them.
    pub(super) fn open() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.local_flags.remove(LocalFlags::ICANON | LocalFlags::ECHO | LocalFlags::ISIG | LocalFlags::IEXTEN);
        raw.input_flags.remove(InputFlags::IXON | InputFlags::ICRNL);
        raw.control_chars[SpecialCharacterIndices::VMIN as usize] = 1;
        raw.control_chars[SpecialCharacterIndices::VTIME as usize] = 0;
        tcsetattr(io::stdin(), SetArg::TCSADRAIN, &raw)?;
        let paint = Paint::of_terminal(true, |name| std::env::var(name).ok());
        let terminal = Self { before, paint };
        written(ENTER)?;
        Ok(terminal)
    }

    /// Returns the size as it is now.
    pub(super) fn size(&self) -> Size {
        let (columns, lines) = screen_size().unwrap_or((80, 24));
        Size { columns, lines }
    }

    /// Replaces all that is shown.
    pub(super) fn draw(&self, lines: &[Line]) -> io::Result<()> {
        let mut out = String::new();
        for (number, Line { text, style }) in lines.iter().enumerate() {
            let text = match style {
                Style::Plain => text.clone(),
                Style::Header => self.paint.bold(text),
                Style::Focus => self.paint.inverse(text),
                Style::Alert => self.paint.alarming(text),
                Style::Faint => self.paint.faint(text),
            };
            out += &format!("\x1b[{};1H{text}\x1b[K", number + 1);
        }
        written(&(out + "\x1b[J"))
    }

    /// Waits until a key comes, or something is written into `waker`, which is emptied.
    pub(super) fn wait(&self, waker: &mut PipeReader) -> io::Result<Waited> {
        let input = io::stdin();
        let (has_keys, is_woken) = {
            let mut both = [input.as_fd(), waker.as_fd()].map(|end| PollFd::new(end, PollFlags::POLLIN));
            match poll(&mut both, PollTimeout::NONE) {
                Err(Errno::EINTR) => return Ok(Waited::default()),
                ready => ready?,
            };
            let [input, waker] = both.map(|end| end.any().unwrap_or(true));
            (input, waker)
        };
        let mut bytes = [0; 256];
        if is_woken {
            let _ = waker.read(&mut bytes)?;
        }
        if !has_keys {
            return Ok(Waited::default());
        }
        // Not through the buffer of the standard library, which would hide from the system what it has read ahead.
        match nix::unistd::read(&input, &mut bytes) {
            // A terminal that was closed says so by an error.
            Ok(0) | Err(Errno::EIO) => Ok(Waited { keys: Vec::new(), is_over: true }),
            Ok(count) => Ok(Waited { keys: bytes[..count].to_vec(), is_over: false }),
            Err(Errno::EINTR | Errno::EAGAIN) => Ok(Waited::default()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // Where the terminal is gone, nobody sees how it is.
        let _ = written(LEAVE);
        let _ = tcsetattr(io::stdin(), SetArg::TCSADRAIN, &self.before);
    }
}

fn written(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}
