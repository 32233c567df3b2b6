//! A processor of one's own: runs of equal items become one item each. `cargo run --example custom`

use filbert::connect::memory;
use filbert::flow::processors::{Collected, collect, map};
use filbert::flow::{Failure, Inbox, Many, Outbox, Processor, Share, Step};
use filbert::{Dag, DagBuilder, DagError, Member};
use std::error::Error;

/// Emits every run of equal numbers as the number and the length of the run.
struct RunLengths {
    run: Option<(u64, u64)>,
}

impl Processor for RunLengths {
    type In = Many<u64>;
    type Out = Many<(u64, u64)>;

    fn process(
        &mut self,
        inbox: &mut Inbox<Many<u64>>,
        outbox: &mut Outbox<Self::Out>,
    ) -> Result<Step, Failure> {
        // An item makes one result at most, so there is room for it while the outbox is not full.
        while !outbox.is_full() {
            let Some(number) = inbox.pop() else { break };
            match &mut self.run {
                Some((same, length)) if *same == number => *length += 1,
                run => {
                    if let Some(ended) = run.replace((number, 1)) {
                        outbox.emit(ended);
                    }
                }
            }
        }
        Ok(Step::Again)
    }

    fn complete(&mut self, outbox: &mut Outbox<Self::Out>) -> Result<Step, Failure> {
        if outbox.is_full() {
            return Ok(Step::Again);
        }
        if let Some(last) = self.run.take() {
            outbox.emit(last);
        }
        Ok(Step::Done)
    }
}

/// How many of so many numbers have the same number of binary digits.
pub(crate) fn custom(numbers: u64, runs: &Collected<(u64, u64)>) -> Result<Dag, DagError> {
    let mut dag = DagBuilder::new("custom");
    let source = dag.vertex("numbers", memory::range(0..numbers));
    let digits = dag.vertex("digits", map(|n: u64| u64::from(u64::BITS - n.leading_zeros())));
    let lengths = dag.vertex("run lengths", |_: Share| RunLengths { run: None });
    let sink = dag.vertex("sink", collect(runs));
    // One processor each: the order of the numbers is what makes runs.
    dag.local_parallelism(&source, 1);
    dag.local_parallelism(&digits, 1);
    dag.local_parallelism(&lengths, 1);
    dag.edge(source.output().to(digits.input()));
    dag.edge(digits.output().to(lengths.input()));
    dag.edge(lengths.output().to(sink.input()));
    dag.build()
}

fn main() -> Result<(), Box<dyn Error>> {
    let runs = Collected::new();
    Member::start()?.submit(&custom(1_000_000, &runs)?)?.wait()?;
    let mut runs = runs.take();
    runs.sort_unstable();
    for (digits, numbers) in runs {
        println!("{numbers:>8} numbers have {digits} binary digits");
    }
    Ok(())
}
