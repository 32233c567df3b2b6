//! The end of a tokio runtime: its threads are joined, and nobody waits for that.
//!
//! `Runtime::shutdown_background` drops the handles of threads that are just ending, which can end the process (see `thread.rs`). To drop a
//! runtime waits for its threads and joins them; so a thread of its own does that. A call that blocks for ever keeps this thread and its
//! own, and nothing else.

use crate::context::StageId;
use crate::thread::run_apart;
use tokio::runtime::Runtime;

/// Ends a runtime: futures are dropped at their next pause, blocking calls go on. Returns at once, on any thread.
pub(super) fn end(runtime: Runtime, of: StageId) {
    let ending = Ending(Some(runtime));
    run_apart(format!("{of}-end"), move || ending.wait());
}

struct Ending(Option<Runtime>);

impl Ending {
    fn wait(mut self) {
        drop(self.0.take());
    }
}

impl Drop for Ending {
    #[expect(clippy::disallowed_methods, reason = "there is no thread to be had, and this one may not wait")]
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
