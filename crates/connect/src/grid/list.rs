//! Lists: read from the first item to the last, written at the end.

use super::asking::Asking;
use super::{read, write};
use filbert_flow::{
    Failure, Inbox, Many, MetaSupplier, Outbox, Processor, ProcessorContext, Share, Step, Supplier,
};
use filbert_grid::{Grid, GridError, List, Structure};
use filbert_wire::{Data, FromData, ToData};
use std::marker::PhantomData;
use std::sync::Arc;
use std::task::Poll;

/// Items that are asked for, or added, at once.
const PAGE: i64 = 512;

/// Emits the items of a list, read as `T`, in their order. One processor: a list lives on one partition. What is added behind while it is
/// read is emitted too; what is removed or put in before shifts the rest.
pub fn list<T: FromData + Send + 'static>(grid: &Grid, name: &str) -> ListSource<T> {
    ListSource { list: grid.list(name), item: PhantomData }
}

/// Adds every item at the end of a list; fails when the list has a greatest size and is full. Items of one processor keep their order.
pub fn write_list<T: ToData + Send + 'static>(grid: &Grid, name: &str) -> ListSink<T> {
    ListSink { list: grid.list(name), item: PhantomData }
}

fn name_of(list: &List) -> String {
    format!("list {:?}", list.name())
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
        if share.global_count() > 1 {
            return Err(format!(
                "{} is read by one processor; leave the parallelism at 1",
                name_of(&self.list)
            )
            .into());
        }
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
            name: name_of(&self.list),
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

/// The vertex of [`write_list`].
pub struct ListSink<T> {
    list: Arc<List>,
    item: PhantomData<fn(T)>,
}

impl<T: ToData + Send + 'static> MetaSupplier for ListSink<T> {
    type Processor = WriteList<T>;
    type Supplier = ListSink<T>;

    fn supplier(&self, _: Share) -> Result<Self, Failure> {
        Ok(Self { list: Arc::clone(&self.list), item: PhantomData })
    }

    fn preferred_parallelism(&self) -> Option<usize> {
        Some(1)
    }
}

impl<T: ToData + Send + 'static> Supplier for ListSink<T> {
    type Processor = WriteList<T>;

    fn processor(&mut self, _: Share) -> Result<WriteList<T>, Failure> {
        let list = Arc::clone(&self.list);
        Ok(WriteList { name: name_of(&list), list, asking: Asking::new(), item: PhantomData })
    }
}

/// The processor of [`write_list`].
pub struct WriteList<T> {
    list: Arc<List>,
    name: String,
    asking: Asking<bool>,
    item: PhantomData<fn(T)>,
}

impl<T: ToData + Send + 'static> WriteList<T> {
    /// True when nothing is under way.
    fn is_free(&mut self) -> Result<bool, Failure> {
        if !self.asking.is_busy() {
            return Ok(true);
        }
        match self.asking.poll(&self.name)? {
            Poll::Pending => Ok(false),
            Poll::Ready(true) => Ok(true),
            Poll::Ready(false) => Err(format!("{} is full", self.name).into()),
        }
    }
}

impl<T: ToData + Send + 'static> Processor for WriteList<T> {
    type In = Many<T>;
    type Out = ();

    fn init(&mut self, context: &ProcessorContext<'_>) -> Result<(), Failure> {
        self.asking.init(context);
        Ok(())
    }

    fn process(&mut self, inbox: &mut Inbox<Many<T>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        if !self.is_free()? {
            return Ok(Step::Wait);
        }
        let items = inbox.take(PAGE as usize).map(|item| write(&self.name, &item));
        let items: Vec<Data> = items.collect::<Result<_, _>>()?;
        self.asking.ask(self.list.add_all(items));
        Ok(if self.is_free()? { Step::Again } else { Step::Wait })
    }

    fn complete(&mut self, _: &mut Outbox<()>) -> Result<Step, Failure> {
        Ok(if self.is_free()? { Step::Done } else { Step::Wait })
    }
}
