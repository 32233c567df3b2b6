//! The harness lets good processors through and says what is wrong with bad ones.

use filbert_flow::{
    Failure, Inbox, Many, OneByOne2, OneItem2, Outbox, Processor, ProcessorContext, Step, TestSupport, Tried,
};
use filbert_pool::{Stages, caught};
use std::task::Waker;

/// Emits what is in its inbox, in one of several ways.
struct Emits(Way);

type Way = fn(&mut Inbox<Many<u8>>, &mut Outbox<Many<u8>>) -> Step;

impl Processor for Emits {
    type In = Many<u8>;
    type Out = Many<u8>;

    fn process(
        &mut self,
        inbox: &mut Inbox<Many<u8>>,
        outbox: &mut Outbox<Many<u8>>,
    ) -> Result<Step, Failure> {
        Ok((self.0)(inbox, outbox))
    }
}

fn complaint(emits: Way) -> String {
    let test = || TestSupport::new(move |_| Emits(emits)).input(vec![1, 2, 3]).expect(vec![1, 2, 3]);
    caught(test).err().unwrap_or_default()
}

#[test]
fn a_good_processor_passes_and_bad_ones_are_named() {
    let good = complaint(|inbox, outbox| {
        outbox.emit_from(&mut inbox.take(outbox.room()));
        Step::Again
    });
    assert_eq!(good, "");
    let careless = complaint(|inbox, outbox| {
        inbox.drain().for_each(|item| outbox.emit(item));
        Step::Again
    });
    assert!(careless.contains("return when the outbox is full"), "{careless}");
    let lazy = complaint(|_, _| Step::Again);
    assert!(lazy.contains("took nothing and emitted nothing"), "{lazy}");
    let loses = complaint(|inbox, outbox| {
        let item = inbox.pop();
        if let Some(item) = item.filter(|_| !outbox.is_full()) {
            outbox.emit(item);
        }
        Step::Again
    });
    assert!(loses.contains("expected is the right"), "{loses}");
}

#[test]
fn two_inputs_of_different_types_can_be_consumed_in_order() {
    /// Looks words up in what came first.
    #[derive(Default)]
    struct Lookup(Vec<(u8, &'static str)>);

    impl OneItem2 for Lookup {
        type Item0 = (u8, &'static str);
        type Item1 = u8;
        type Out = Many<&'static str>;

        fn try_process_0(
            &mut self,
            item: (u8, &'static str),
            _: &mut Outbox<Self::Out>,
        ) -> Result<Tried<(u8, &'static str)>, Failure> {
            self.0.push(item);
            Ok(Tried::Done)
        }

        fn try_process_1(&mut self, key: u8, outbox: &mut Outbox<Self::Out>) -> Result<Tried<u8>, Failure> {
            let found = self.0.iter().find(|(known, _)| *known == key).map_or("none", |(_, word)| word);
            Ok(match outbox.try_emit(found) {
                Ok(()) => Tried::Done,
                Err(_) => Tried::Later(key),
            })
        }
    }

    TestSupport::new(|_| OneByOne2(Lookup::default()))
        .input_at::<1>(vec![2, 1, 3])
        .input_at::<0>(vec![(1, "one"), (2, "two")])
        .in_order()
        .expect(vec!["two", "one", "none"]);
}

#[test]
fn a_source_that_waits_is_woken() {
    struct Waits {
        waker: Option<Waker>,
        left: u8,
        waits: bool,
    }

    impl Processor for Waits {
        type In = ();
        type Out = Many<u8>;

        fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
            self.waker = Some(context.waker().clone());
            Ok(())
        }

        fn complete(&mut self, outbox: &mut Outbox<Many<u8>>) -> Result<Step, Failure> {
            self.waits = !self.waits;
            if self.waits {
                self.waker.as_ref().unwrap().wake_by_ref();
                return Ok(Step::Wait);
            }
            if self.left > 0 && outbox.try_emit(self.left).is_ok() {
                self.left -= 1;
            }
            Ok(if self.left == 0 { Step::Done } else { Step::Again })
        }
    }

    TestSupport::new(|_| Waits { waker: None, left: 3, waits: false }).expect_in_any_order(vec![1, 2, 3]);
}

#[test]
fn an_edge_that_is_full_while_another_is_not_is_noticed() {
    /// Looks at one of its edges only.
    struct LooksAtFirst;

    impl Processor for LooksAtFirst {
        type In = Many<u8>;
        type Out = Many<u8>;

        fn process(
            &mut self,
            inbox: &mut Inbox<Many<u8>>,
            outbox: &mut Outbox<Many<u8>>,
        ) -> Result<Step, Failure> {
            while !outbox.to(0).is_full() {
                let Some(item) = inbox.pop() else { break };
                outbox.emit(item);
            }
            Ok(Step::Again)
        }
    }

    let test =
        || TestSupport::new(|_| LooksAtFirst).input((0..20).collect()).outputs(2).expect((0..20).collect());
    let said = caught(test).unwrap_err();
    assert!(said.contains("return when the outbox is full"), "{said}");
    // With one edge there is nothing wrong with it.
    TestSupport::new(|_| LooksAtFirst).input((0..20).collect()).expect((0..20).collect());
}

/// A source that waits for a stage: allowed on a thread of its own, and refused where it would hold up others.
struct Blocks<const COOPERATIVE: bool> {
    stages: Stages,
    left: u8,
    rests: bool,
}

impl<const COOPERATIVE: bool> Processor for Blocks<COOPERATIVE> {
    type In = ();
    type Out = Many<u8>;
    const IS_COOPERATIVE: bool = COOPERATIVE;

    fn complete(&mut self, outbox: &mut Outbox<Many<u8>>) -> Result<Step, Failure> {
        self.rests = !self.rests;
        // A call that comes to nothing, as after a poll of something foreign.
        if self.rests && !COOPERATIVE {
            return Ok(Step::Again);
        }
        let left = self.left;
        if outbox.try_emit(self.stages.mixed().submit("read", move || left)?.wait()?).is_ok() {
            self.left -= 1;
        }
        Ok(if self.left == 0 { Step::Done } else { Step::Again })
    }
}

#[test]
fn a_processor_that_blocks_has_a_thread_and_one_that_should_not_is_named() {
    let stages = Stages::start().unwrap();
    let all = stages.clone();
    TestSupport::new(move |_| Blocks::<false> { stages: all.clone(), left: 3, rests: false })
        .expect(vec![3, 2, 1]);
    let test = || {
        let make = move |_| Blocks::<true> { stages: stages.clone(), left: 3, rests: false };
        TestSupport::new(make).expect(vec![3, 2, 1]);
    };
    let said = caught(test).unwrap_err();
    assert!(said.contains("`complete` failed") && said.contains("flow"), "{said}");
}
