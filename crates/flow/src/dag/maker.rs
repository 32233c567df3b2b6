//! A vertex without its types: makes its processors, and the tasklet of each, for one job.

use crate::processor::{Failure, MetaSupplier, Processor, Share, Supplier};
use crate::signature::{AnyEnd, Arity, Inputs, ItemType, Outputs};
use crate::tasklet::{Conduct, ProcessorTasklet, Seat};
use std::cell::Cell;

/// Makes the tasklets of a vertex.
pub(crate) trait Maker: Send + Sync {
    /// How many inbound edges its processors have.
    fn inbound(&self) -> Arity;

    /// How many outbound edges its processors have.
    fn outbound(&self) -> Arity;

    /// What comes in at an ordinal.
    fn input_item(&self, ordinal: usize) -> Option<ItemType>;

    /// What goes out at an ordinal.
    fn output_item(&self, ordinal: usize) -> Option<ItemType>;

    /// False when each of its processors needs a thread of its own.
    fn is_cooperative(&self) -> bool;

    /// A processor per seat, with the ends of its edges. `at` says which one is being made, should that fail or panic.
    fn tasklets(
        &self,
        share: Share,
        seats: Vec<Seat>,
        at: &Cell<usize>,
    ) -> Result<Vec<Box<dyn Conduct>>, Failure>;
}

/// The maker of a meta-supplier.
pub(crate) struct MakerOf<M>(pub(crate) M);

impl<M: MetaSupplier> Maker for MakerOf<M> {
    fn inbound(&self) -> Arity {
        <<M::Processor as Processor>::In as Inputs>::ARITY
    }

    fn outbound(&self) -> Arity {
        <<M::Processor as Processor>::Out as Outputs>::ARITY
    }

    fn input_item(&self, ordinal: usize) -> Option<ItemType> {
        <<M::Processor as Processor>::In as Inputs>::item(ordinal)
    }

    fn output_item(&self, ordinal: usize) -> Option<ItemType> {
        <<M::Processor as Processor>::Out as Outputs>::item(ordinal)
    }

    fn is_cooperative(&self) -> bool {
        M::Processor::IS_COOPERATIVE
    }

    fn tasklets(
        &self,
        share: Share,
        seats: Vec<Seat>,
        at: &Cell<usize>,
    ) -> Result<Vec<Box<dyn Conduct>>, Failure> {
        let mut supplier = self.0.supplier(share)?;
        let mut tasklets: Vec<Box<dyn Conduct>> = Vec::with_capacity(seats.len());
        for seat in seats {
            at.set(seat.share.index);
            let processor = supplier.processor(seat.share)?;
            tasklets.push(Box::new(ProcessorTasklet::new(processor, seat)));
        }
        Ok(tasklets)
    }
}

/// The ends of the edges of one processor, by ordinal.
#[derive(Default)]
pub(crate) struct EndsOfProcessor {
    pub(crate) inputs: Vec<AnyEnd>,
    /// The priority of each input.
    pub(crate) priorities: Vec<i32>,
    pub(crate) outputs: Vec<AnyEnd>,
}
