//! A hostile harness for processors: what the engine may do to them at its worst, and a little more.
//!
//! A processor is run several times over the same items, each time in another manner ([`Manner`]): items come one by one or all at
//! once; the outbox has one slot, and now and then none at all; of several outbound edges one is full while another is empty; edges are
//! consumed in turns or one after the other; the processor shares its thread with others or has one of its own.
//! Asserted are: the results; that every call makes progress (takes, emits or says that it is done), unless the outbox is full
//! or it waits for its waker; that nothing is emitted past a full outbox; that it ends.
//!
//! A cooperative processor is called as on the stage `flow`, so that the stages refuse it when it waits for them; one that is not, and
//! every one in the manners [`on_own_thread`](Manner::on_own_thread), is called on a thread of the stage `dedicated`, where it may
//! block, and where a call of one that is not cooperative may come to nothing. The stages are simulated ones, for this run alone.

use crate::counters::Counters;
use crate::inbox::{Inbox, Items};
use crate::outbox::{Bucket, Outbox};
use crate::processor::{Processor, ProcessorContext, Share, Step};
use crate::signature::{AnyEnd, Arity, Inputs, Many, Outlet, Outputs, Port};
use filbert_pool::{Stages, TaskError};
use filbert_sync::Parker;
use filbert_sync::conveyor::{self, Closed, Conveyor, Receiver};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// How long a processor that waits for its waker may be asleep.
const WAKE_WITHIN: Duration = Duration::from_secs(30);

/// How many calls without an end are taken for a processor that never ends: so many per item, and some.
const CALLS_PER_ITEM: usize = 10_000;

/// How a processor is treated in one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// Items in the inbox at a time.
    pub slice: usize,
    /// Items in the outbox at a time.
    pub room: usize,
    /// The outbox is emptied after every other call only: in between it is full. Of several edges, each is emptied in its turn.
    pub refuses_every_other_call: bool,
    /// The processor has a thread of its own. One that is not cooperative always has.
    pub on_own_thread: bool,
}

impl Manner {
    const fn new(slice: usize, room: usize) -> Self {
        Self { slice, room, refuses_every_other_call: false, on_own_thread: false }
    }

    const fn refusing(self) -> Self {
        Self { refuses_every_other_call: true, ..self }
    }

    const fn on_own_thread(self) -> Self {
        Self { on_own_thread: true, ..self }
    }
}

/// From generous to hostile.
pub const MANNERS: [Manner; 8] = [
    Manner::new(usize::MAX, 2048),
    Manner::new(1, 2048),
    Manner::new(usize::MAX, 1),
    Manner::new(1, 1),
    Manner::new(usize::MAX, 1).refusing(),
    Manner::new(3, 2).refusing(),
    Manner::new(usize::MAX, 2048).on_own_thread(),
    Manner::new(2, 1).refusing().on_own_thread(),
];

/// Runs a processor in every manner and compares what it emits.
///
/// ```
/// use filbert_flow::{Failure, FlatMapper, Inbox, Many, OneByOne, OneItem, Outbox, Step, TestSupport, Tried};
///
/// struct Words { mapper: FlatMapper<String, std::vec::IntoIter<String>, fn(String) -> std::vec::IntoIter<String>> }
///
/// impl OneItem for Words {
///     type Item = String;
///     type Out = Many<String>;
///     fn try_process(&mut self, _: usize, line: String, outbox: &mut Outbox<Many<String>>) -> Result<Tried<String>, Failure> {
///         Ok(self.mapper.try_process(line, outbox))
///     }
///     fn resume(&mut self, outbox: &mut Outbox<Many<String>>) -> Result<(), Failure> {
///         self.mapper.resume(outbox);
///         Ok(())
///     }
///     fn complete(&mut self, outbox: &mut Outbox<Many<String>>) -> Result<Step, Failure> {
///         Ok(self.mapper.complete(outbox))
///     }
/// }
///
/// fn split(line: String) -> std::vec::IntoIter<String> {
///     line.split(' ').map(str::to_owned).collect::<Vec<_>>().into_iter()
/// }
///
/// TestSupport::new(|_| OneByOne(Words { mapper: FlatMapper::new(split as fn(String) -> _) }))
///     .input(vec!["to be or".to_owned(), "not to be".to_owned()])
///     .expect(["to", "be", "or", "not", "to", "be"].map(str::to_owned).to_vec());
/// ```
#[must_use = "call `expect` or `run`"]
pub struct TestSupport<P: Processor> {
    make: Box<dyn Fn(Share) -> P>,
    feeds: Vec<Feed>,
    in_order: bool,
    /// Makes the outbound edges, with so much room; where there are more than the least.
    outlets: Option<Box<dyn Fn(usize) -> Vec<Outlet>>>,
}

/// The items of one inbound edge.
struct Feed {
    ordinal: usize,
    count: usize,
    end: Box<dyn Fn() -> AnyEnd>,
}

impl Feed {
    fn new<T: Clone + Send + 'static>(ordinal: usize, items: Vec<T>) -> Self {
        Self { ordinal, count: items.len(), end: Box::new(move || Box::new(fed(items.clone()))) }
    }
}

/// What one run of a processor emitted.
pub struct Emitted {
    results: Vec<Box<dyn Results>>,
}

impl Emitted {
    /// What it emitted at an ordinal.
    ///
    /// # Panics
    /// When there is no such port, or its items are of another type.
    pub fn take<T: 'static>(&mut self, ordinal: usize) -> Vec<T> {
        let items = self.results.get_mut(ordinal).map(|results| results.items());
        match items.and_then(|items| items.downcast_mut::<Vec<T>>()) {
            Some(items) => std::mem::take(items),
            None => panic!("the processor has no output {ordinal} of {}", std::any::type_name::<T>()),
        }
    }
}

impl<P: Processor> TestSupport<P> {
    /// Tests the processors that `make` makes.
    pub fn new(make: impl Fn(Share) -> P + 'static) -> Self {
        Self { make: Box::new(make), feeds: Vec::new(), in_order: false, outlets: None }
    }

    /// The items of the edge at ordinal 0.
    pub fn input(self, items: Vec<<P::In as Port<0>>::Item>) -> Self
    where
        P::In: Port<0>,
        <P::In as Port<0>>::Item: Clone,
    {
        self.input_at::<0>(items)
    }

    /// The items of the edge at ordinal `N`.
    pub fn input_at<const N: usize>(mut self, items: Vec<<P::In as Port<N>>::Item>) -> Self
    where
        P::In: Port<N>,
        <P::In as Port<N>>::Item: Clone,
    {
        self.feeds.push(Feed::new(N, items));
        self
    }

    /// The items of an edge at any ordinal, for a processor that takes any number of edges.
    pub fn input_number<T>(mut self, ordinal: usize, items: Vec<T>) -> Self
    where
        P: Processor<In = Many<T>>,
        T: Clone + Send + 'static,
    {
        self.feeds.push(Feed::new(ordinal, items));
        self
    }

    /// It feeds so many edges, one unless this is said; for a processor that feeds any number. What each got is in [`Emitted`].
    ///
    /// ```
    /// use filbert_flow::{processors, MetaSupplier, Supplier, TestSupport};
    ///
    /// let doubles = processors::map(|n: u64| 2 * n);
    /// TestSupport::new(move |share| doubles.supplier(share).unwrap().processor(share).unwrap())
    ///     .input(vec![1, 2, 3])
    ///     .outputs(2)
    ///     .expect_each(|_, mut emitted| {
    ///         assert_eq!(emitted.take::<u64>(0), [2, 4, 6]);
    ///         assert_eq!(emitted.take::<u64>(1), [2, 4, 6]);
    ///     });
    /// ```
    pub fn outputs<T>(mut self, count: usize) -> Self
    where
        P: Processor<Out = Many<T>>,
        T: Clone + Send + 'static,
    {
        let copy: fn(&T) -> T = T::clone;
        self.outlets = Some(Box::new(move |room| (0..count).map(|_| outlet(room, Some(copy))).collect()));
        self
    }

    /// Edges are consumed one after the other, by ordinal, as with priorities; else in turns.
    pub fn in_order(mut self) -> Self {
        self.in_order = true;
        self
    }

    /// Runs it in every manner; it must emit exactly these items, in this order, at ordinal 0.
    ///
    /// # Panics
    /// When it does not behave, with the manner in which it did not.
    pub fn expect<T>(self, expected: Vec<T>)
    where
        P::Out: Port<0, Item = T>,
        T: PartialEq + Debug + 'static,
    {
        for manner in MANNERS {
            let found: Vec<T> = self.run(manner).take(0);
            assert_eq!(found, expected, "the processor emitted the left, expected is the right; {manner:?}");
        }
    }

    /// Runs it in every manner; it must emit exactly these items, in any order, at ordinal 0.
    ///
    /// # Panics
    /// As [`TestSupport::expect`].
    pub fn expect_in_any_order<T>(self, mut expected: Vec<T>)
    where
        P::Out: Port<0, Item = T>,
        T: Ord + Debug + 'static,
    {
        expected.sort();
        for manner in MANNERS {
            let mut found: Vec<T> = self.run(manner).take(0);
            found.sort();
            assert_eq!(found, expected, "the processor emitted the left, expected is the right; {manner:?}");
        }
    }

    /// Runs it in every manner, for a sink or for what it does beside emitting; `check` is called after each run.
    ///
    /// # Panics
    /// As [`TestSupport::expect`].
    pub fn expect_each(self, mut check: impl FnMut(Manner, Emitted)) {
        for manner in MANNERS {
            let emitted = self.run(manner);
            check(manner, emitted);
        }
    }

    /// Runs it once.
    ///
    /// # Panics
    /// When it does not behave.
    pub fn run(&self, manner: Manner) -> Emitted {
        let mut run = Run::new(self, manner);
        let stages = Stages::simulated(0);
        let body = move || {
            run.all();
            run.results
        };
        let ran = match P::IS_COOPERATIVE && !manner.on_own_thread {
            true => stages.flow().submit("under test", body),
            false => stages.dedicated().submit("under test", move |_| body()),
        };
        let ended = ran.unwrap_or_else(|refused| unreachable!("new stages take a task: {refused}")).wait();
        match ended {
            Ok(results) => Emitted { results },
            Err(TaskError::Panicked { message, .. }) => panic!("{message}"),
            Err(lost) => panic!("{lost}; {manner:?}"),
        }
    }
}

/// An edge whose items have all been sent.
fn fed<T: Send + 'static>(mut items: Vec<T>) -> Items<T> {
    let mut queues = Conveyor::new();
    let mut sender = queues.add_lane(items.len().max(1));
    let sent = sender.send_vec(&mut items);
    debug_assert!(sent.is_ok() && items.is_empty());
    Items::new(queues)
}

/// What comes out of one edge.
pub trait Results: Send {
    /// Takes what is in the queue.
    fn collect(&mut self);

    /// A `Vec` of the items.
    fn items(&mut self) -> &mut dyn Any;
}

struct ResultsOf<T> {
    queue: Receiver<T>,
    items: Vec<T>,
}

impl<T: Send + 'static> Results for ResultsOf<T> {
    fn collect(&mut self) {
        let _: Result<usize, Closed> = self.queue.receive_into(&mut self.items, usize::MAX);
    }

    fn items(&mut self) -> &mut dyn Any {
        &mut self.items
    }
}

/// The two ends of an edge out of the processor.
pub(crate) fn outlet<T: Send + 'static>(room: usize, copy: Option<fn(&T) -> T>) -> Outlet {
    let (sender, queue) = conveyor::lane(room);
    let link = crate::edge::unicast::UnicastLink::new(vec![sender], 0);
    // One that is emitted past the mark is seen, and not lost.
    let bucket: Bucket<T> = Bucket::new(Box::new(link), room, copy);
    (Box::new(bucket), Box::new(ResultsOf { queue, items: Vec::new() }))
}

/// One run.
struct Run<P: Processor> {
    processor: P,
    inbox: Inbox<P::In>,
    outbox: Outbox<P::Out>,
    results: Vec<Box<dyn Results>>,
    manner: Manner,
    in_order: bool,
    parker: Arc<Parker>,
    /// The outbox was full at the end of the last call.
    was_full: bool,
    calls: usize,
    calls_allowed: usize,
}

impl<P: Processor> Run<P> {
    fn new(support: &TestSupport<P>, manner: Manner) -> Self {
        let mut feeds: Vec<_> = support.feeds.iter().collect();
        feeds.sort_by_key(|feed| feed.ordinal);
        let ordinals: Vec<usize> = feeds.iter().map(|feed| feed.ordinal).collect();
        let gapless: Vec<usize> = (0..feeds.len()).collect();
        assert!(
            P::In::ARITY.allows(feeds.len()) && ordinals == gapless,
            "the processor takes {} edge(s), each given once; the test gives the ordinals {ordinals:?}",
            P::In::ARITY
        );
        let items: usize = feeds.iter().map(|feed| feed.count).sum();
        let outlets = match (&support.outlets, P::Out::ARITY) {
            (Some(outlets), _) => outlets(manner.room),
            (None, Arity::Exactly(count)) => P::Out::outlets(count, manner.room),
            (None, Arity::AtLeastOne) => P::Out::outlets(1, manner.room),
        };
        let (ends, results) = outlets.into_iter().unzip();
        Self {
            processor: (support.make)(Share::WHOLE),
            inbox: Inbox { store: P::In::store(feeds.iter().map(|feed| (feed.end)()).collect()), ordinal: 0 },
            outbox: Outbox { store: P::Out::store(ends) },
            results,
            manner,
            in_order: support.in_order,
            parker: Arc::new(Parker::new()),
            was_full: false,
            calls: 0,
            calls_allowed: CALLS_PER_ITEM * (items + 10),
        }
    }

    fn all(&mut self) {
        let waker = Waker::from(Arc::clone(&self.parker));
        // Under test there are no stages: a processor that hands work over is told that they have ended.
        let stages = Stages::simulated(0).downgrade();
        let (share, counters) = (Share::WHOLE, Arc::new(Counters::new(0, 0)));
        let context = ProcessorContext {
            vertex: "under test",
            share,
            waker: &waker,
            stages: &stages,
            counters: &counters,
        };
        if let Err(failure) = self.processor.init(&context) {
            panic!("`init` failed: {failure}; {:?}", self.manner);
        }
        let count = P::In::count(&self.inbox.store);
        let mut open: Vec<usize> = (0..count).collect();
        let mut next = 0;
        while !open.is_empty() {
            let position = if self.in_order { 0 } else { next % open.len() };
            let ordinal = open[position];
            next += 1;
            let input = P::In::input(&mut self.inbox.store, ordinal);
            if input.ready() == 0 && input.fill(self.manner.slice) == Err(Closed) {
                self.until_done("complete_edge", |run| run.processor.complete_edge(ordinal, &mut run.outbox));
                open.remove(position);
                continue;
            }
            self.process(ordinal);
        }
        self.until_done("complete", |run| run.processor.complete(&mut run.outbox));
        self.settle(|_| true);
    }

    fn process(&mut self, ordinal: usize) {
        self.inbox.ordinal = ordinal;
        loop {
            let before = P::In::input(&mut self.inbox.store, ordinal).ready();
            let step = self.call(
                "process",
                |run| run.processor.process(&mut run.inbox, &mut run.outbox),
                |run| match before {
                    // A call for what could not be emitted before; there may be nothing.
                    0 => 1,
                    _ => before - P::In::input(&mut run.inbox.store, ordinal).ready().min(before),
                },
            );
            let input = P::In::input(&mut self.inbox.store, ordinal);
            if step == Step::Done {
                input.close();
            }
            let is_called_again = self.was_full || self.processor.wants_call();
            if step != Step::Again || !is_called_again || input.ready() > 0 {
                break;
            }
        }
    }

    fn until_done(&mut self, method: &str, mut call: impl FnMut(&mut Self) -> Result<Step, crate::Failure>) {
        while self.call(method, &mut call, |_| 0) != Step::Done {}
    }

    /// One call, and what is asserted of every call.
    fn call(
        &mut self,
        method: &str,
        call: impl FnOnce(&mut Self) -> Result<Step, crate::Failure>,
        taken: impl FnOnce(&mut Self) -> usize,
    ) -> Step {
        let manner = self.manner;
        self.calls += 1;
        assert!(self.calls <= self.calls_allowed, "the processor does not end; {manner:?}");
        let (room, backlog) = (self.room(), self.backlog());
        let step = match call(self) {
            Ok(step) => step,
            Err(failure) => panic!("`{method}` failed: {failure}; {manner:?}"),
        };
        let emitted = self.backlog() - backlog;
        assert!(
            emitted.iter().zip(&room).all(|(emitted, room)| emitted <= room),
            "`{method}` emitted {emitted:?} items per edge where there was room for {room:?}: return when the outbox is \
             full; {manner:?}"
        );
        self.was_full = self.room().contains(&0);
        let is_full = room.contains(&0) || self.was_full;
        let progressed = taken(self) > 0 || emitted.iter().any(|count| *count > 0) || step == Step::Done;
        if step == Step::Wait {
            assert!(
                self.parker.park_timeout(WAKE_WITHIN),
                "`{method}` said Wait, and nobody woke its waker; {manner:?}"
            );
        } else {
            assert!(
                progressed || is_full || !P::IS_COOPERATIVE,
                "`{method}` took nothing and emitted nothing although there was room: say Wait, or Done; {manner:?}"
            );
        }
        let calls = self.calls;
        self.settle(|ordinal| !manner.refuses_every_other_call || (calls + ordinal).is_multiple_of(2));
        step
    }

    /// Empties the edges that are to be emptied now.
    fn settle(&mut self, empties: impl Fn(usize) -> bool) {
        for ordinal in (0..P::Out::count(&self.outbox.store)).filter(|ordinal| empties(*ordinal)) {
            while P::Out::output(&mut self.outbox.store, ordinal).backlog() > 0 {
                if let Err(failure) = P::Out::output(&mut self.outbox.store, ordinal).flush() {
                    panic!("{failure}");
                }
                self.results[ordinal].collect();
            }
        }
    }

    fn room(&mut self) -> Counts {
        self.counts(|output| output.mark().saturating_sub(output.backlog()))
    }

    fn backlog(&mut self) -> Counts {
        self.counts(|output| output.backlog())
    }

    fn counts(&mut self, count: impl Fn(&mut dyn crate::outbox::Output) -> usize) -> Counts {
        let store = &mut self.outbox.store;
        Counts((0..P::Out::count(store)).map(|ordinal| count(P::Out::output(store, ordinal))).collect())
    }
}

/// A number per outbound edge.
#[derive(Debug)]
struct Counts(Vec<usize>);

impl std::ops::Deref for Counts {
    type Target = [usize];

    fn deref(&self) -> &[usize] {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Counts {
    type Item = &'a usize;
    type IntoIter = std::slice::Iter<'a, usize>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl std::ops::Sub for Counts {
    type Output = Counts;

    fn sub(self, other: Counts) -> Counts {
        Counts(self.iter().zip(&other).map(|(a, b)| a - b).collect())
    }
}
