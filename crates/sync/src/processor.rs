//! Which processor a thread is on, and how to wake a thread on another one.
//!
//! A kernel may put a woken thread on the processor of its waker although others are idle: it does so when the processors share
//! no last-level cache, as on many virtual machines. A waker that goes on working then shares its processor with the
//! very thread that it woke for help, until the load balancer notices, milliseconds later. So a waker that goes on working
//! takes its own processor out of the sleeper's set first ([`keep_off`]), and the woken thread puts its set back
//! ([`Affinity::restore`]; rule 6 of [`idle`](crate::idle) says who does when both are at it). That is three system calls more per wake-up, and a wake-up is rare; nobody is pinned.
//!
//! Elsewhere than on Linux nothing is known and nothing is done.

#[cfg(all(target_os = "linux", not(filbert_loom)))]
mod system {
    /// The processor that the current thread runs on, if that can be known.
    #[inline]
    pub fn current() -> Option<u32> {
        // SAFETY: no arguments, no effect.
        u32::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    /// The system's number of the current thread; zero if it has none.
    pub fn thread_number() -> u32 {
        // SAFETY: no arguments, no effect.
        u32::try_from(unsafe { libc::gettid() }).unwrap_or(0)
    }

    /// The processors that a thread may run on.
    #[derive(Clone, Copy)]
    pub struct Affinity(Option<libc::cpu_set_t>);

    fn of(thread: u32) -> Option<libc::cpu_set_t> {
        let size = size_of::<libc::cpu_set_t>();
        // SAFETY: an all-zero set is a valid, empty one, and the call writes within `size` bytes of it.
        unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            (libc::sched_getaffinity(thread as libc::pid_t, size, &raw mut set) == 0).then_some(set)
        }
    }

    fn set(thread: u32, set: &libc::cpu_set_t) {
        // SAFETY: the call reads `size` bytes of a valid set; a thread that is gone is an error that changes nothing.
        unsafe { libc::sched_setaffinity(thread as libc::pid_t, size_of::<libc::cpu_set_t>(), set) };
    }

    impl Affinity {
        /// Those of the current thread.
        pub fn of_this_thread() -> Self {
            Self(of(0))
        }

        /// Puts them back for the thread of that number; zero is the current one.
        pub fn restore(&self, thread: u32) {
            if let Some(all) = &self.0 {
                set(thread, all);
            }
        }
    }

    /// Takes `processor` out of the set of `thread`, which sleeps, unless it is the only one there.
    pub fn keep_off(thread: u32, processor: u32) {
        if thread == 0 || processor as usize >= libc::CPU_SETSIZE as usize {
            return;
        }
        if let Some(mut others) = of(thread) {
            // SAFETY: the number is within the set.
            let left = unsafe {
                libc::CPU_CLR(processor as usize, &mut others);
                libc::CPU_COUNT(&others)
            };
            if left > 0 {
                set(thread, &others);
            }
        }
    }
}

#[cfg(not(all(target_os = "linux", not(filbert_loom))))]
mod system {
    /// Unknown here.
    #[inline]
    pub fn current() -> Option<u32> {
        None
    }

    /// Unknown here.
    pub fn thread_number() -> u32 {
        0
    }

    /// Unknown here.
    #[derive(Clone, Copy)]
    pub struct Affinity;

    impl Affinity {
        /// Unknown here.
        pub fn of_this_thread() -> Self {
            Self
        }

        /// Nothing to put back.
        pub fn restore(&self, _thread: u32) {}
    }

    /// Cannot be done here.
    pub fn keep_off(_thread: u32, _processor: u32) {}
}

pub use system::{Affinity, current, keep_off, thread_number};

impl std::fmt::Debug for Affinity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Affinity")
    }
}

#[cfg(all(test, not(filbert_loom), target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_was_kept_off_gets_its_processors_back() {
        let allowed = || std::thread::available_parallelism().map_or(1, usize::from);
        let before = allowed();
        let all = Affinity::of_this_thread();
        keep_off(thread_number(), current().expect("Linux knows"));
        assert_eq!(allowed(), if before > 1 { before - 1 } else { 1 });
        all.restore(0);
        assert_eq!(allowed(), before);
    }
}
