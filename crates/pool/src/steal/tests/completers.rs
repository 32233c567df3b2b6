//! Completers: trees without a blocking join.

use super::*;

/// A tree in which node `n` forks `n - 1`, `n - 2`, ... and counts itself.
pub(super) struct Count {
    pub(super) n: u32,
    pub(super) bad: Option<u32>,
    pub(super) bad_end: Option<u32>,
}

impl Completer for Count {
    type Output = u64;

    fn compute(&mut self, forks: &mut Forks<'_, Self>) {
        assert!(self.bad != Some(self.n), "bad node");
        for n in 0..self.n {
            forks.fork(Count { n, ..*self });
        }
    }

    fn on_completion(self, children: Vec<u64>) -> u64 {
        assert!(self.bad_end != Some(self.n), "bad end");
        assert_eq!(children.len(), self.n as usize);
        1 + children.iter().sum::<u64>()
    }
}

#[test]
fn completers_count_a_tree_and_fail_as_one() {
    let (env, pool) = staged(2);
    for _ in 0..20 {
        let count = |bad, bad_end| pool.complete("count", Count { n: 10, bad, bad_end }).unwrap().wait();
        assert_eq!(count(None, None), Ok(1 << 10));
        assert!(
            matches!(count(Some(4), None), Err(TaskError::Panicked { message, .. }) if message == "bad node")
        );
        assert!(
            matches!(count(None, Some(9)), Err(TaskError::Panicked { message, .. }) if message == "bad end")
        );
    }
    // Forks that a guest leaves behind are done by the workers.
    let inside = pool.run(|| pool.complete("inside", Count { n: 8, bad: None, bad_end: None }));
    assert_eq!(inside.unwrap().wait(), Ok(1 << 8));
    end(&env, &pool, Ending::Drain);
}

#[test]
fn a_pool_is_not_drained_while_a_thief_may_have_a_fork_in_hand() {
    let (env, pool) = staged(1);
    end(&env, &pool, Ending::Drain);
    // As a worker that looks into the others' deques; a fork of a completer belongs to no root that is still counted.
    pool.core.idle.enter_search();
    assert!(!pool.engine().is_drained(), "between the theft and `found`");
    pool.core.idle.found();
    assert!(!pool.engine().is_drained());
    pool.core.idle.leave_active();
    assert!(pool.engine().is_drained());
}
