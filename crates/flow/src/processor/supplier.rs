//! How processors are made: one meta-supplier per vertex, from it one supplier per member, from that one processor per share.
//!
//! The meta-supplier is a part of the DAG and is shared by all jobs; a supplier belongs to one job on one member; a processor to one tasklet.
//! So a source can look at the whole once, at what the member has once, and give every processor its own slice.

use super::{Failure, Processor};

/// Which part of a vertex's work a processor has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Which processor of the vertex on this member, from 0.
    pub index: usize,
    /// How many processors the vertex has on this member.
    pub count: usize,
    /// Which member, from 0.
    pub member: usize,
    /// How many members take part.
    pub members: usize,
}

impl Share {
    /// The only processor of a vertex.
    pub const WHOLE: Share = Share { index: 0, count: 1, member: 0, members: 1 };

    /// Which processor of the vertex over all members, from 0.
    pub fn global_index(self) -> usize {
        self.member * self.count + self.index
    }

    /// How many processors the vertex has over all members.
    pub fn global_count(self) -> usize {
        self.members * self.count
    }

    /// True when this processor is responsible for a partition, as edges made with
    /// [`Edge::partitioned_with`](crate::Edge::partitioned_with) see it.
    pub fn owns(self, partition: u32) -> bool {
        partition as usize % self.global_count() == self.global_index()
    }

    /// This processor's part of `items`, which are cut into as many parts as there are processors.
    ///
    /// ```
    /// use filbert_flow::Share;
    /// let second = Share { index: 1, count: 4, ..Share::WHOLE };
    /// assert_eq!(second.part_of(0..100), 25..50);
    /// ```
    pub fn part_of(self, items: std::ops::Range<u64>) -> std::ops::Range<u64> {
        let length = u128::from(items.end.saturating_sub(items.start));
        let parts = self.global_count() as u128;
        let cut = |part: usize| items.start + (length * part as u128 / parts) as u64;
        cut(self.global_index())..cut(self.global_index() + 1)
    }
}

/// Makes the processors of a vertex, over all members and jobs. A closure `Fn(Share) -> Processor` will do.
pub trait MetaSupplier: Send + Sync + 'static {
    /// What it makes in the end.
    type Processor: Processor;
    /// What makes them on one member.
    type Supplier: Supplier<Processor = Self::Processor>;

    /// The supplier of one member for one job. `share` has the number of processors that it will be asked for; its index means nothing.
    fn supplier(&self, share: Share) -> Result<Self::Supplier, Failure>;

    /// How many processors per member there should be if the DAG does not say; none: as many as the stage `flow` has workers.
    fn preferred_parallelism(&self) -> Option<usize> {
        None
    }

    /// How many items the queues behind the vertex should hold if their edges do not say, and its buckets: for items that are large.
    /// None: as usual.
    fn preferred_queue_size(&self) -> Option<usize> {
        None
    }
}

/// Makes the processors of a vertex on one member, for one job. On a thread that may block.
pub trait Supplier: Send + 'static {
    /// What it makes.
    type Processor: Processor;

    /// True when [`Supplier::close`] has something to do.
    const CLOSES: bool = false;

    /// The processor of one share; asked once for every share, in their order.
    fn processor(&mut self, share: Share) -> Result<Self::Processor, Failure>;

    /// Nothing of the job is left but its suppliers: the place to make results visible, or to take them away when the job did not
    /// complete. Called once, on a thread that may block, before the job is over; a failure here fails a job that had completed.
    fn close(&mut self, is_completed: bool) -> Result<(), Failure> {
        let _ = is_completed;
        Ok(())
    }
}

impl<F, P> MetaSupplier for F
where
    F: Fn(Share) -> P + Clone + Send + Sync + 'static,
    P: Processor,
{
    type Processor = P;
    type Supplier = FromClosure<F>;

    fn supplier(&self, _: Share) -> Result<FromClosure<F>, Failure> {
        Ok(FromClosure(self.clone()))
    }
}

/// The supplier of a closure.
pub struct FromClosure<F>(F);

impl<F, P> Supplier for FromClosure<F>
where
    F: Fn(Share) -> P + Send + 'static,
    P: Processor,
{
    type Processor = P;

    fn processor(&mut self, share: Share) -> Result<P, Failure> {
        Ok((self.0)(share))
    }
}
