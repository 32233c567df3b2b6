//! The `filbert` binary.
#![forbid(unsafe_code)]
// `cli::tell` says what is to be said there.
#![deny(clippy::print_stderr)]

mod cli;

use filbert::pool::process_memory::CountingAllocator;
use mimalloc::MiMalloc;

/// Gives memory back to the system soon after it was freed, which the system's own does not do while a thread holds a little of it; and
/// counts, for the limit of the member.
#[global_allocator]
static ALLOCATOR: CountingAllocator<MiMalloc> = CountingAllocator::new(MiMalloc);

fn main() -> std::process::ExitCode {
    cli::run()
}
