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

    /// How many items the queues behind it hold, where nobody says otherwise.
    fn preferred_queue_size(&self) -> Option<usize>;

    /// A processor per seat, with the ends of its edges. `at` says which one is being made, should that fail or panic.
    fn tasklets(&self, share: Share, seats: Vec<Seat>, at: &Cell<usize>) -> Result<Made, Failure>;
}

/// The tasklets of a vertex for one job, and what is to be done when the job ends.
pub(crate) struct Made {
    pub(crate) tasklets: Vec<Box<dyn Conduct>>,
    pub(crate) closer: Option<Box<dyn Close>>,
}

/// A supplier without its type, at the end of a job.
pub(crate) trait Close: Send {
    /// See [`Supplier::close`].
    fn close(&mut self, is_completed: bool) -> Result<(), Failure>;
}

impl<S: Supplier> Close for S {
    fn close(&mut self, is_completed: bool) -> Result<(), Failure> {
        Supplier::close(self, is_completed)
    }
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

    fn preferred_queue_size(&self) -> Option<usize> {
        self.0.preferred_queue_size()
    }

    fn tasklets(&self, share: Share, seats: Vec<Seat>, at: &Cell<usize>) -> Result<Made, Failure> {
        let mut supplier = self.0.supplier(share)?;
        let mut tasklets: Vec<Box<dyn Conduct>> = Vec::with_capacity(seats.len());
        for seat in seats {
            at.set(seat.share.index);
            match supplier.processor(seat.share) {
                Ok(processor) => tasklets.push(Box::new(ProcessorTasklet::new(processor, seat))),
                Err(failure) => {
                    // What it says now is a consequence.
                    let _ = Supplier::close(&mut supplier, false);
                    return Err(failure);
                }
            }
        }
        let closer = M::Supplier::CLOSES.then(|| Box::new(supplier) as Box<dyn Close>);
        Ok(Made { tasklets, closer })
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
