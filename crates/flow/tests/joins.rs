//! Hash joins of pipelines: the vertex that they run in, and that it makes no difference to results, failures and endings.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

mod tokens;

use filbert_flow::aggregate::count;
use filbert_flow::pipeline::{Head, Stream};
use filbert_flow::processors::{Collected, collect, for_each, iterate, with_parallelism};
use filbert_flow::transform::Recipe;
use filbert_flow::{
    DataCodec, Failure, Inbox, JobError, JobStatus, Many, MetaSupplier, Outbox, Pipeline, Processor,
    ProcessorContext, Share, Step, Supplier,
};
use filbert_pool::{Stages, simulate};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Waker;
use tokens::{Token, wait_until};

/// How many items the large side has, and of how many keys; the small side has every other key, twice.
const LARGE: u64 = 3_000;
const KEYS: u64 = 40;

/// The numbers of a processor's share.
fn numbers() -> impl MetaSupplier<Processor = impl Processor<In = (), Out = Many<u64>>> {
    iterate(|share| share.part_of(0..LARGE))
}

fn small() -> Stream<impl Head<Item = u64>, impl Recipe<u64, Out = (u64, u64)>> {
    Pipeline::read(iterate(|share| share.part_of(0..KEYS))).map(|n| (n / 2 * 2, n))
}

fn expected() -> Vec<(u64, u64)> {
    let matches = |n: u64| {
        let key = n % KEYS;
        [(n, key), (n, key + 1)].into_iter().filter(move |_| key.is_multiple_of(2))
    };
    (0..LARGE).flat_map(matches).collect()
}

/// The join of a stream of numbers with the small side, its vertices, and what it gives.
macro_rules! joined {
    ($seed:expr, $large:expr) => {
        joined!($seed, $large, |joined| joined)
    };
    ($seed:expr, $large:expr, |$join:ident| $labelled:expr) => {{
        let list = Collected::new();
        let $join = $large.hash_join(small(), |n| n % KEYS, |s| s.0, |n, s| (n, s.1));
        let dag = $labelled.write(collect(&list)).to_dag().unwrap();
        let stages = Stages::simulated($seed);
        dag.submit(&stages).unwrap().wait().unwrap();
        let mut found = list.take();
        found.sort_unstable();
        let small = ["sink", "table", "source + map"];
        let vertices = dag.vertices().filter(|name| !small.contains(name)).map(str::to_owned);
        (vertices.collect::<Vec<_>>(), found)
    }};
}

#[test]
fn a_join_is_a_step_of_its_large_side_where_nothing_speaks_against_it() {
    simulate::seeds("a_join_is_a_step_of_its_large_side", 0..30, |seed| {
        // In the vertex of the source, with the steps between them.
        let (vertices, found) = joined!(seed, Pipeline::read(numbers()));
        assert_eq!((vertices, found), (vec!["source + hash_join".to_owned()], expected()));
        let (vertices, found) =
            joined!(seed, Pipeline::read(numbers()).map(|n| n + 1).map(|n| n - 1), |joined| joined
                .filter(|_| true)
                .named("enrich"));
        assert_eq!((vertices, found), (vec!["enrich".to_owned()], expected()));
        let (vertices, found) =
            joined!(seed, Pipeline::read(numbers()).parallelism(3), |joined| joined.parallelism(3));
        assert_eq!((vertices, found), (vec!["source + hash_join".to_owned()], expected()));

        // In the vertex of the steps before it, where those have one of their own.
        let (vertices, found) = joined!(seed, Pipeline::read(numbers()).fork().filter(|_| true));
        assert_eq!(
            (vertices, found),
            (vec!["filter + hash_join".to_owned(), "source".to_owned()], expected())
        );
        let one = with_parallelism(1, iterate(|_| 0..LARGE));
        let (vertices, found) = joined!(seed, Pipeline::read(one).map(|n| n));
        assert_eq!((vertices, found), (vec!["map + hash_join".to_owned(), "source".to_owned()], expected()));
        let (vertices, found) = joined!(seed, Pipeline::read(numbers()).distinct());
        let first = "source + distinct".to_owned();
        assert_eq!((vertices, found), (vec!["distinct + hash_join".to_owned(), first], expected()));
    });
}

#[test]
fn a_large_side_with_a_name_or_other_processors_keeps_its_vertex() {
    let own = |name: &str| vec!["hash_join".to_owned(), name.to_owned()];
    simulate::seeds("a_large_side_keeps_its_vertex", 0..30, |seed| {
        let (vertices, found) = joined!(seed, Pipeline::read(numbers()).named("reader"));
        assert_eq!((vertices, found), (own("reader"), expected()));
        let (vertices, found) = joined!(seed, Pipeline::read(iterate(|_| 0..LARGE)).parallelism(1));
        assert_eq!((vertices, found), (own("source"), expected()));
        let (vertices, found) =
            joined!(seed, Pipeline::read(numbers()).map(|n| n), |joined| joined.parallelism(1));
        // The small side has a vertex of that name too.
        assert_eq!((vertices, found), (own("source + map 2"), expected()));
        let (vertices, found) = joined!(seed, Pipeline::read(Every::<false>::of(LARGE)));
        assert_eq!((vertices, found), (own("source"), expected()));
        let (vertices, found) =
            joined!(seed, Pipeline::read(Every::<false>::of(LARGE)).parallelism(2), |joined| {
                joined.parallelism(2)
            });
        assert_eq!((vertices, found), (own("source"), expected()));
        let half = |odd| Pipeline::read(numbers()).filter(move |n| n % 2 == odd);
        let (vertices, found) = joined!(seed, half(0).merge(half(1)).map(|n| n));
        assert_eq!(found, expected());
        assert_eq!(vertices.first().map(String::as_str), Some("hash_join"));
    });
}

#[test]
fn joins_in_a_row_and_of_a_stream_with_itself() {
    simulate::seeds("joins_in_a_row_and_of_a_stream_with_itself", 0..60, |seed| {
        let (vertices, found) = joined!(
            seed,
            Pipeline::read(numbers()).hash_join(small(), |n| n % KEYS, |s| s.0, |n, _| n).distinct()
        );
        assert_eq!(found, expected());
        assert!(vertices.contains(&"source + hash_join + distinct".to_owned()), "{vertices:?}");

        // Two tables of the same type: each item must look into its own.
        let stages = Stages::simulated(seed);
        let list = Collected::new();
        let table =
            |add: u64| Pipeline::read(iterate(|share| share.part_of(0..KEYS))).map(move |n| (n, n + add));
        let pipeline = Pipeline::read(numbers())
            .hash_join(table(1_000), |n| n % KEYS, |s| s.0, |n, s| (n, s.1))
            .hash_join(table(5_000), |n| n.0 % KEYS, |s| s.0, |n, s| (n.0, n.1, s.1))
            .write(collect(&list));
        pipeline.to_dag().unwrap().submit(&stages).unwrap().wait().unwrap();
        let mut found = list.take();
        found.sort_unstable();
        let twice = (0..LARGE).map(|n| (n, n % KEYS + 1_000, n % KEYS + 5_000));
        assert!(found.into_iter().eq(twice));

        // The same vertex before the table and before the look into it: planned with a buffer, it ends.
        let list = Collected::new();
        let both = Pipeline::read(numbers()).filter(|n| n % 2 == 0).fork();
        let pipeline =
            both.clone().map(|n| n + 2).hash_join(both, |n| *n, |s| *s, |n, s| (n, *s)).write(collect(&list));
        pipeline.to_dag().unwrap().submit(&stages).unwrap().wait().unwrap();
        let mut found = list.take();
        found.sort_unstable();
        assert!(found.into_iter().eq((2..LARGE).step_by(2).map(|n| (n, n))));
    });
}

/// Bug: the edges of pipelines had no codec, so that a stream joined with what was made of itself failed at a million items.
#[test]
fn a_large_stream_is_joined_with_what_was_made_of_itself() {
    const ITEMS: u64 = filbert_flow::BUFFER_ITEMS as u64 + 100_000;
    let found = |spills: bool| {
        let stages = Stages::start().unwrap();
        let list = Collected::new();
        let numbers =
            Pipeline::read(iterate(|share| share.part_of(0..ITEMS).map(|n| n as i64))).parallelism(1);
        let both = if spills { numbers.spilling(DataCodec) } else { numbers.fork() };
        let counts = both.clone().group_by(|n| n % 7).aggregate(count());
        let joined = both.parallelism(1).hash_join(counts, |n| n % 7, |count| count.0, |_, count| count.1);
        let job = joined.parallelism(1).aggregate(count()).write(collect(&list)).to_dag().unwrap();
        job.submit(&stages).unwrap().wait().map(|()| list.take())
    };
    assert_eq!(found(true).unwrap(), [ITEMS]);
    let failed = found(false).unwrap_err().to_string();
    assert!(failed.contains("`Stream::spilling`"), "{failed}");
}

/// All numbers below one, each from the processor that has it, as a source that is not ours.
#[derive(Clone)]
struct Every<const COOPERATIVE: bool> {
    next: u64,
    step: u64,
    end: u64,
}

impl<const COOPERATIVE: bool> Every<COOPERATIVE> {
    fn of(end: u64) -> impl MetaSupplier<Processor = Self> {
        move |share: Share| Self { next: share.index as u64, step: share.count as u64, end }
    }
}

impl<const COOPERATIVE: bool> Processor for Every<COOPERATIVE> {
    type In = ();
    type Out = Many<u64>;

    const IS_COOPERATIVE: bool = COOPERATIVE;

    fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
        while self.next < self.end && !outbox.is_full() {
            outbox.emit(self.next);
            self.next += self.step;
        }
        Ok(if self.next < self.end { Step::Again } else { Step::Done })
    }
}

/// A source of which nothing may be asked before the table is complete.
struct Patient {
    table: Arc<AtomicBool>,
    left: u64,
}

impl Processor for Patient {
    type In = ();
    type Out = Many<u64>;

    fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
        if !self.table.load(Ordering::Relaxed) {
            return Err("asked for an item before the table is complete".into());
        }
        outbox.emit(self.left);
        self.left -= 1;
        Ok(if self.left == 0 { Step::Done } else { Step::Again })
    }
}

#[test]
fn a_source_is_asked_when_the_table_is_complete_and_its_items_are_counted() {
    simulate::seeds("a_source_is_asked_when_the_table_is_complete", 0..100, |seed| {
        let (stages, list, table) =
            (Stages::simulated(seed), Collected::new(), Arc::new(AtomicBool::new(false)));
        let is_complete = Arc::clone(&table);
        let last = with_parallelism(1, iterate(|_| 0..5_000_u64));
        let small = Pipeline::read(last)
            .map(move |n| {
                is_complete.store(n == 4_999, Ordering::Relaxed);
                n
            })
            .parallelism(1);
        let pipeline = Pipeline::read(move |_| Patient { table: Arc::clone(&table), left: 100 })
            .hash_join(small, |n| *n, |s| *s, |n, _| n)
            .write(collect(&list));
        let job = pipeline.to_dag().unwrap().submit(&stages).unwrap();
        job.wait().unwrap();
        let metrics = job.metrics();
        let vertex = metrics.vertices.iter().find(|vertex| vertex.name == "source + hash_join").unwrap();
        // A table for each of its processors.
        assert_eq!(vertex.items_in, vertex.processors as u64);
        assert_eq!(vertex.items_out, 100 * vertex.processors as u64);
        assert_eq!(list.take().len(), 100 * vertex.processors);
    });
}

/// Numbers without end, each with something that counts how many are alive, joined with a table of three.
fn endless(
    alive: &Arc<AtomicUsize>,
) -> Stream<impl Head<Item = (u64, Token)>, impl Recipe<(u64, Token), Out = (u64, Token)>> {
    let alive = Arc::clone(alive);
    let items = iterate(move |_| {
        let alive = Arc::clone(&alive);
        (0..u64::MAX).map(move |n| (n, Token::new(&alive)))
    });
    let small = Pipeline::read(iterate(|_| 0..3_u64)).parallelism(1);
    Pipeline::read(items).hash_join(small, |n| n.0 % 3, |s| *s, |n, _| n)
}

#[test]
fn a_join_that_is_its_own_source_is_cancelled_and_leaves_nothing() {
    let stages = Stages::start().unwrap();
    let alive = Arc::default();
    let dag = endless(&alive).write(for_each(drop)).to_dag().unwrap();
    for _ in 0..20 {
        let job = dag.submit(&stages).unwrap();
        wait_until("work", || {
            job.metrics().vertices.iter().any(|vertex| vertex.name == "sink" && vertex.items_in > 0)
        });
        job.cancel();
        assert!(job.wait().is_err());
        assert_eq!(job.status(), JobStatus::Cancelled);
        assert_eq!(alive.load(Ordering::Relaxed), 0, "items are left");
    }
    simulate::seeds("a_join_that_is_its_own_source_is_cancelled", 0..200, |seed| {
        let stages = Stages::simulated(seed);
        let job = dag.submit(&stages).unwrap();
        let mut turns = stages.clock().random_below(60);
        stages.simulation().unwrap().until(|| {
            turns = turns.saturating_sub(1);
            turns == 0
        });
        job.cancel();
        assert!(job.wait().is_err());
        assert_eq!(alive.load(Ordering::Relaxed), 0, "items are left");
    });
}

#[test]
fn a_join_that_is_its_own_source_ends_with_its_consumers() {
    /// Takes some items and closes.
    struct Ten;

    impl Processor for Ten {
        type In = Many<(u64, Token)>;
        type Out = ();

        fn process(
            &mut self,
            inbox: &mut Inbox<Many<(u64, Token)>>,
            _: &mut Outbox<()>,
        ) -> Result<Step, Failure> {
            inbox.close();
            Ok(Step::Done)
        }
    }
    simulate::seeds("a_join_that_is_its_own_source_ends_with_its_consumers", 0..100, |seed| {
        let alive = Arc::default();
        let dag = endless(&alive).write(|_| Ten).to_dag().unwrap();
        dag.submit(&Stages::simulated(seed)).unwrap().wait().unwrap();
        assert_eq!(alive.load(Ordering::Relaxed), 0, "items are left");
    });
}

#[test]
fn what_goes_wrong_in_such_a_source_is_told_with_its_vertex() {
    #[derive(Clone, Copy)]
    enum How {
        Fails,
        Panics,
    }

    struct Breaks(How);

    impl Processor for Breaks {
        type In = ();
        type Out = Many<u64>;

        fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
            outbox.emit(1);
            match self.0 {
                How::Fails => Err("the disk is gone".into()),
                How::Panics => panic!("the disk is gone"),
            }
        }
    }
    for how in [How::Fails, How::Panics] {
        let pipeline = Pipeline::read(move |_| Breaks(how))
            .hash_join(small(), |n| *n, |s| s.0, |n, _| n)
            .write(for_each(|_| {}));
        let job = pipeline.to_dag().unwrap().submit(&Stages::simulated(1)).unwrap();
        let Err(JobError::Failed(failure)) = job.wait() else { panic!("the job must fail") };
        assert_eq!(failure.vertex, "source + hash_join");
        assert_eq!(failure.message, "the disk is gone");
        assert_eq!(failure.panicked, matches!(how, How::Panics));
    }
}

/// A source that sleeps until it is woken, by a waker that it got before its table was there.
#[test]
fn a_source_that_waits_is_woken_in_its_join() {
    #[derive(Default)]
    struct Mail {
        letters: Vec<u64>,
        waker: Option<Waker>,
        is_over: bool,
    }

    struct Letters(Arc<Mutex<Mail>>);

    impl Processor for Letters {
        type In = ();
        type Out = Many<u64>;

        fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
            self.0.lock().unwrap().waker = Some(context.waker().clone());
            Ok(())
        }

        fn complete(&mut self, outbox: &mut Outbox<Many<u64>>) -> Result<Step, Failure> {
            let mut mail = self.0.lock().unwrap();
            mail.letters.drain(..).for_each(|letter| outbox.emit(letter));
            Ok(if mail.is_over { Step::Done } else { Step::Wait })
        }
    }
    let (stages, list, mail) =
        (Stages::start().unwrap(), Collected::new(), Arc::new(Mutex::new(Mail::default())));
    let letters = Arc::clone(&mail);
    let pipeline = Pipeline::read(move |_| Letters(Arc::clone(&letters)))
        .parallelism(1)
        .hash_join(small(), |n| *n, |s| s.0, |n, s| (n, s.1))
        .parallelism(1)
        .write(collect(&list));
    let dag = pipeline.to_dag().unwrap();
    assert!(dag.vertices().any(|name| name == "source + hash_join"));
    let job = dag.submit(&stages).unwrap();
    wait_until("the start", || mail.lock().unwrap().waker.is_some());
    for letter in 0..20_u64 {
        let mut open = mail.lock().unwrap();
        open.letters.push(letter);
        open.is_over = letter == 19;
        let waker = open.waker.clone().unwrap();
        drop(open);
        waker.wake();
        // Nothing else comes: a result must not wait for the next letter, also where it found no match.
        wait_until("the letter's way", || mail.lock().unwrap().letters.is_empty());
        let expected = letter / 2 * 2 + 2;
        if letter < 19 {
            wait_until("the result", || {
                job.metrics()
                    .vertices
                    .iter()
                    .any(|vertex| vertex.name == "sink" && vertex.items_in == expected)
            });
        }
    }
    job.wait().unwrap();
    let mut found = list.take();
    found.sort_unstable();
    assert_eq!(found, (0..20).map(|n| (n / 2 * 2, n)).collect::<Vec<_>>());
}

/// The supplier of a source that had steps in its vertex was not told of the end.
#[test]
fn the_supplier_of_a_source_with_steps_is_closed() {
    struct Closing(Arc<AtomicUsize>);

    impl MetaSupplier for Closing {
        type Processor = Every<true>;
        type Supplier = Closing;

        fn supplier(&self, _: Share) -> Result<Closing, Failure> {
            Ok(Closing(Arc::clone(&self.0)))
        }
    }

    impl Supplier for Closing {
        type Processor = Every<true>;

        const CLOSES: bool = true;

        fn processor(&mut self, share: Share) -> Result<Every<true>, Failure> {
            Ok(Every { next: share.index as u64, step: share.count as u64, end: LARGE })
        }

        fn close(&mut self, is_completed: bool) -> Result<(), Failure> {
            assert!(is_completed);
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(())
        }
    }
    let closed = Arc::new(AtomicUsize::new(0));
    let source = || Pipeline::read(Closing(Arc::clone(&closed)));
    let stages = Stages::simulated(3);
    let run = |pipeline: Pipeline| pipeline.to_dag().unwrap().submit(&stages).unwrap().wait().unwrap();
    run(source().map(|n| n).write(for_each(|_| {})));
    assert_eq!(closed.load(Ordering::Relaxed), 1);
    run(source().hash_join(small(), |n| *n, |s| s.0, |n, _| n).write(for_each(|_| {})));
    assert_eq!(closed.load(Ordering::Relaxed), 2);
}
