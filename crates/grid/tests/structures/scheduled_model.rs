//! A scheduled executor against a simple model: tasks are scheduled, cancelled, disposed of and run in a random order of virtual time.
//!
//! The model counts in seconds. Each turn of the simulation takes some microseconds more, which never come to one.

use crate::long;
use crate::tasks::register;
use filbert_grid::{
    Code, Grid, GridError, GridSettings, Registry, ScheduledExecutor, ScheduledExecutorSettings,
    ScheduledTask, TaskPlan,
};
use filbert_pool::{Clock, Stages, simulate};
use filbert_wire::PartitionId;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const CAPACITY: usize = 5;

#[derive(Debug, Clone, PartialEq)]
enum Outcome {
    Cancelled,
    Gave(usize),
    Failed,
}

/// What a task should be like.
#[derive(Debug, Clone)]
struct Model {
    /// When the next run is due, in seconds.
    due: u64,
    period: Option<u64>,
    fails_at: u64,
    auto_dispose: bool,
    runs: u64,
    outcome: Option<Outcome>,
}

impl Model {
    /// Time passes until `now`; true when it is gone by that.
    fn pass(&mut self, now: u64, tag: usize) -> bool {
        let was_done = self.outcome.is_some();
        while self.outcome.is_none() && self.due <= now {
            self.runs += 1;
            match self.period {
                _ if self.runs == self.fails_at => self.outcome = Some(Outcome::Failed),
                Some(period) => self.due += period,
                None => self.outcome = Some(Outcome::Gave(tag)),
            }
        }
        !was_done && self.auto_dispose && self.outcome.is_some()
    }
}

struct World {
    executor: Arc<ScheduledExecutor>,
    clock: Clock,
    now: u64,
    /// By the task and the tag that its code has.
    tasks: BTreeMap<ScheduledTask, (usize, Model)>,
    tags: usize,
    /// How often the code with each tag ran.
    ran: Arc<Vec<AtomicUsize>>,
}

fn seconds(number: u64) -> Duration {
    Duration::from_secs(number)
}

impl World {
    fn below(&self, bound: usize) -> usize {
        self.clock.random_below(bound)
    }

    /// A name on one of two partitions, or on the member.
    fn some_task(&self) -> ScheduledTask {
        let name = ["a", "b", "c"][self.below(3)];
        match self.below(3) {
            2 => ScheduledTask::on_member(name),
            number => ScheduledTask::on_partition(PartitionId::new(number as u32 * 100).unwrap(), name),
        }
    }

    fn schedule(&mut self, grid: &Grid) {
        let (task, delay, period) = (self.some_task(), self.below(50) as u64, 1 + self.below(40) as u64);
        let (repeated, auto_dispose) = (self.below(2) == 0, self.below(4) == 0);
        let fails_at = if self.below(2) == 0 { 1 + self.below(4) as u64 } else { 0 };
        let code = Code::named("tagged", long(self.tags * 10 + fails_at as usize));
        let plan = if repeated {
            TaskPlan::at_fixed_rate(code, seconds(delay), seconds(period))
        } else {
            TaskPlan::once(code, seconds(delay))
        };
        let plan = plan.named(task.name.clone());
        let plan = if auto_dispose { plan.auto_dispose() } else { plan };
        let scheduled = match task.place {
            filbert_grid::TaskPlace::Partition(partition) => {
                self.executor.schedule_on_partition(plan, partition)
            }
            filbert_grid::TaskPlace::Member => self.executor.schedule_on_member(plan, grid.member()),
        };
        match scheduled.wait() {
            Ok(given) => {
                assert_eq!(given, task);
                assert!(!self.tasks.contains_key(&task) && self.tasks.len() < CAPACITY);
                let period = repeated.then_some(period);
                let model =
                    Model { due: self.now + delay, period, fails_at, auto_dispose, runs: 0, outcome: None };
                self.tasks.insert(task, (self.tags, model));
                self.tags += 1;
            }
            Err(GridError::DuplicateTask { .. }) => assert!(self.tasks.contains_key(&task)),
            Err(GridError::TooManyTasks { .. }) => assert_eq!(self.tasks.len(), CAPACITY),
            Err(other) => panic!("{other}"),
        }
    }

    fn cancel(&mut self) {
        let task = self.some_task();
        let cancelled = self.executor.cancel(&task).wait();
        match self.tasks.get_mut(&task) {
            None => assert!(matches!(cancelled, Err(GridError::StaleTask { .. }))),
            Some((_, model)) => {
                assert_eq!(cancelled, Ok(model.outcome.is_none()), "{model:?}");
                model.outcome.get_or_insert(Outcome::Cancelled);
            }
        }
    }

    fn dispose(&mut self) {
        let task = self.some_task();
        let waits = self.executor.result(&task);
        let disposed = self.executor.dispose(&task).wait();
        match self.tasks.remove(&task) {
            None => assert!(matches!(disposed, Err(GridError::StaleTask { .. }))),
            Some((_, model)) => {
                assert_eq!(disposed, Ok(()));
                let told = waits.wait();
                let stale = matches!(told, Err(GridError::StaleTask { .. }));
                assert_eq!(stale, model.outcome.is_none(), "{told:?}");
            }
        }
    }

    fn pass(&mut self, stages: &Stages) {
        let time = self.below(60) as u64;
        stages.simulation().unwrap().advance(seconds(time));
        self.now += time;
        let now = self.now;
        self.tasks.retain(|_, (tag, model)| !model.pass(now, *tag));
    }

    fn check(&self) {
        let mut known = self.executor.tasks().wait().unwrap();
        known.sort();
        assert_eq!(known, self.tasks.keys().cloned().collect::<Vec<_>>());
        assert_eq!(self.executor.len(), self.tasks.len());
        for (task, (tag, model)) in &self.tasks {
            let (executor, at) = (&self.executor, format!("{task:?} at {}: {model:?}", self.now));
            assert_eq!(executor.is_done(task).wait(), Ok(model.outcome.is_some()), "{at}");
            let cancelled = model.outcome == Some(Outcome::Cancelled);
            assert_eq!(executor.is_cancelled(task).wait(), Ok(cancelled), "{at}");
            assert_eq!(executor.statistics(task).wait().unwrap().runs, model.runs, "{at}");
            assert_eq!(self.ran[*tag].load(Ordering::SeqCst) as u64, model.runs, "{at}");
            let expected = seconds(if model.outcome.is_none() { model.due - self.now } else { 0 });
            let delay = executor.delay(task).wait().unwrap();
            assert!(delay <= expected && expected - delay < seconds(1), "{delay:?} for {at}");
            let result = executor.result(task);
            match &model.outcome {
                None => assert!(!result.is_done(), "{at}"),
                Some(Outcome::Cancelled) => {
                    assert!(matches!(result.wait(), Err(GridError::TaskCancelled { .. })), "{at}");
                }
                Some(Outcome::Failed) => {
                    assert!(matches!(result.wait(), Err(GridError::UserCode { .. })), "{at}");
                }
                Some(Outcome::Gave(tag)) => assert_eq!(result.wait(), Ok(Some(long(*tag))), "{at}"),
            }
        }
    }
}

#[test]
fn tasks_are_what_the_model_says_at_any_time() {
    simulate::seeds("tasks_are_what_the_model_says_at_any_time", 0..150, |seed| {
        let stages = Stages::simulated(seed);
        let mut settings = GridSettings::default();
        settings.scheduled_executors.set("*", ScheduledExecutorSettings { capacity: CAPACITY });
        let grid = Grid::with(&stages, settings, Registry::new());
        let ran: Arc<Vec<_>> = Arc::new((0..200).map(|_| AtomicUsize::new(0)).collect());
        let counts = Arc::clone(&ran);
        register(&grid, "tagged", move |argument, _| {
            let number = crate::number(argument);
            let (tag, fails_at) = (number / 10, number % 10);
            let run = counts[tag].fetch_add(1, Ordering::SeqCst) + 1;
            if run == fails_at { Err("as it should".to_owned()) } else { Ok(Some(long(tag))) }
        });
        let (executor, clock) = (grid.scheduled_executor("model"), stages.clock());
        let mut world = World { executor, clock, now: 0, tasks: BTreeMap::new(), tags: 0, ran };
        // What is due now has run when the model looks.
        world.pass(&stages);
        for _ in 0..80 {
            match world.below(8) {
                0..4 => world.schedule(&grid),
                4 => world.cancel(),
                5 => world.dispose(),
                _ => world.pass(&stages),
            }
            stages.simulation().unwrap().settle();
            let now = world.now;
            world.tasks.retain(|_, (tag, model)| !model.pass(now, *tag));
            world.check();
        }
    });
}
