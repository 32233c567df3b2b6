//! Act 8: the rules. A wait that could hold up the thread it waits for is refused, with both stages named.

use super::super::text::write_wrapped;
use super::snippet;
use filbert::Member;
use std::io::{self, Write};

pub(super) fn show(member: &Member, out: &mut impl Write) -> io::Result<()> {
    let stages = member.stages();
    writeln!(out, "Rules: what the compiler cannot see is refused at run time")?;
    let work = stages.generic().submit("work", || 1).map_err(io::Error::other)?;
    let wait = stages.partition().submit_any("waits", move || work.wait()).map_err(io::Error::other)?;
    if let Err(refused) = wait.wait().map_err(io::Error::other)? {
        write_wrapped(out, "  ", &refused.to_string())?;
    }
    let inner = stages.clone();
    let crossing = move || inner.mixed().submit("read", || ()).map(|read| read.detach());
    let crossing = stages.cpu().submit("crosses", crossing).map_err(io::Error::other)?;
    if let Err(refused) = crossing.wait().map_err(io::Error::other)? {
        write_wrapped(out, "  ", &refused.to_string())?;
    }
    let failed = stages.executor("reports").map_err(io::Error::other)?;
    let quiet = QuietPanics::new();
    let failed =
        failed.submit("report", || -> u32 { panic!("division by zero") }).map_err(io::Error::other)?.wait();
    drop(quiet);
    if let Err(panicked) = failed {
        write_wrapped(out, "  ", &format!("{panicked} (and the executor works on)"))?;
    }
    snippet::write(out, include_str!("snippets/rules.txt"))
}

/// The demonstration's own panic is not worth a backtrace on the terminal.
struct QuietPanics(Option<PanicHook>);

type PanicHook = Box<dyn Fn(&std::panic::PanicHookInfo<'_>) + Sync + Send>;

impl QuietPanics {
    fn new() -> Self {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(|_| {}));
        Self(Some(before))
    }
}

impl Drop for QuietPanics {
    fn drop(&mut self) {
        if let Some(before) = self.0.take() {
            std::panic::set_hook(before);
        }
    }
}
