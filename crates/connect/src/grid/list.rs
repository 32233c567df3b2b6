//! Lists: read from the first item to the last, written at the end.

use super::asking::Asking;
use super::batches::{TakesBatches, WriteBatches};
use super::{only_reader, read};
use filbert_flow::processors::with_parallelism;
use filbert_flow::{Failure, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier};
use filbert_grid::{Grid, GridError, Invocation, List, Structure};
use filbert_wire::{Data, FromData, ToData};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Poll;

/// Items that are asked for at once.
const PAGE: i64 = 512;

/// Emits the items of a list, read as `T`, in their order. One processor: a list lives on one partition. What is added behind while it is
/// read is emitted too; what is removed or put in before shifts the rest.
pub fn list<T: FromData + Send + 'static>(grid: &Grid, name: &str) -> ListSource<T> {
    ListSource { list: grid.list(name), item: PhantomData }
}

/// Adds every item at the end of a list; fails when the list has a greatest size and is full. Items of one processor keep their order.
pub fn write_list<T: ToData + Send + 'static>(
    grid: &Grid,
    name: &str,
) -> impl MetaSupplier<Processor = WriteList<T>> {
    let list = grid.list(name);
    with_parallelism(1, move |_| WriteBatches::new(&list))
}

/// The processor of [`write_list`].
pub type WriteList<T> = WriteBatches<T, List>;

impl TakesBatches for List {
    /// False: it is full.
    type Answer = bool;

    fn title(&self) -> String {
        format!("list {:?}", self.name())
    }

    fn take(&self, items: Vec<Data>) -> Invocation<bool> {
        self.add_all(items)
    }

    fn has_taken(answer: &bool) -> bool {
        *answer
    }
}

/// The vertex of [`list`].
pub struct ListSource<T> {
    list: Arc<List>,
    item: PhantomData<fn() -> T>,
}

impl<T: FromData + Send + 'static> MetaSupplier for ListSource<T> {
    type Processor = ReadList<T>;
    type Supplier = ListSource<T>;

    fn supplier(&self, share: Share) -> Result<Self, Failure> {
        only_reader(share, || self.list.title())?;
        Ok(Self { list: Arc::clone(&self.list), item: PhantomData })
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        Some(1)
    }
}

impl<T: FromData + Send + 'static> Supplier for ListSource<T> {
    type Processor = ReadList<T>;

    fn processor(&mut self, _: Share) -> Result<ReadList<T>, Failure> {
        Ok(ReadList {
            name: self.list.title(),
            list: Arc::clone(&self.list),
            from: 0,
            size: None,
            sizing: Asking::new(),
            asking: Asking::new(),
            page: Vec::new().into_iter(),
            item: PhantomData,
        })
    }
}

/// The processor of [`list`].
pub struct ReadList<T> {
    list: Arc<List>,
    name: String,
    from: i64,
    /// How long the list was, when it was last asked.
    size: Option<i64>,
    sizing: Asking<usize>,
    asking: Asking<Vec<Data>>,
    page: std::vec::IntoIter<Data>,
    item: PhantomData<fn() -> T>,
}

impl<T: FromData + Send + 'static> Processor for ReadList<T> {
    type In = ();
    type Out = Many<T>;

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.sizing.init(context);
        self.asking.init(context);
        Ok(())
    }

    fn complete(&mut self, outbox: &mut Outbox<Many<T>>) -> Result<Step, Failure> {
        if self.page.as_slice().is_empty() {
            let Some(size) = self.size else {
                if !self.sizing.is_busy() {
                    self.sizing.ask(self.list.size());
                }
                return Ok(match self.sizing.poll(&self.name)? {
                    Poll::Pending => Step::Wait,
                    Poll::Ready(size) if self.from >= size as i64 => Step::Done,
                    Poll::Ready(size) => {
                        self.size = Some(size as i64);
                        Step::Again
                    }
                });
            };
            if !self.asking.is_busy() {
                self.asking.ask(self.list.sub(self.from, size.min(self.from + PAGE)));
            }
            match self.asking.poll_raw() {
                Poll::Pending => return Ok(Step::Wait),
                // It has become shorter meanwhile: how long is it now?
                Poll::Ready(Err(GridError::IndexOutOfBounds { .. })) => {
                    self.size = None;
                    return Ok(Step::Again);
                }
                Poll::Ready(Err(error)) => return Err(format!("{}: {error}", self.name).into()),
                Poll::Ready(Ok(items)) => {
                    self.from += items.len() as i64;
                    if self.from >= size {
                        self.size = None;
                    }
                    self.page = items.into_iter();
                }
            }
        }
        while !outbox.is_full() {
            let Some(item) = self.page.next() else { break };
            outbox.emit(read(&self.name, &item)?);
        }
        Ok(Step::Again)
    }
}
