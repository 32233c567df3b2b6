//! Sinks in the process: a list that the program reads when the job is over, and a closure.

use crate::inbox::Inbox;
use crate::outbox::Outbox;
use crate::processor::{Failure, MetaSupplier, Processor, Step};
use crate::signature::Many;
use crate::transform::owned_bytes;
use std::marker::PhantomData;
use std::sync::{Arc, Mutex};

/// Calls `each` with every item.
pub fn for_each<T, F>(each: F) -> impl MetaSupplier<Processor = ForEach<T, F>>
where
    T: Send + 'static,
    F: FnMut(T) + Clone + Send + Sync + 'static,
{
    move |_| ForEach { each: each.clone(), _item: PhantomData }
}

/// Puts every item into `list`, in no particular order.
pub fn collect<T: Send + 'static>(list: &Collected<T>) -> impl MetaSupplier<Processor = Collect<T>> + use<T> {
    let list = list.clone();
    move |_| Collect { list: list.clone(), items: Vec::new(), owned: 0 }
}

/// The items that a job collected; clones are the same list.
pub struct Collected<T> {
    items: Arc<Mutex<Vec<T>>>,
}

impl<T> Clone for Collected<T> {
    fn clone(&self) -> Self {
        Self { items: Arc::clone(&self.items) }
    }
}

impl<T> Default for Collected<T> {
    fn default() -> Self {
        Self { items: Arc::default() }
    }
}

impl<T> Collected<T> {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes what is there; all of it when the job is over. A processor adds its items when it completes.
    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut *self.items.lock().unwrap_or_else(|broken| broken.into_inner()))
    }
}

/// The processor of [`collect`].
pub struct Collect<T> {
    list: Collected<T>,
    items: Vec<T>,
    /// What the items own.
    owned: usize,
}

impl<T: Send + 'static> Processor for Collect<T> {
    type In = Many<T>;
    type Out = ();

    fn process(&mut self, inbox: &mut Inbox<Many<T>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        let owned = &mut self.owned;
        self.items.extend(inbox.drain().inspect(|item| *owned += owned_bytes(item)));
        Ok(Step::Again)
    }

    fn complete(&mut self, _: &mut Outbox<()>) -> Result<Step, Failure> {
        let mut list = self.list.items.lock().unwrap_or_else(|broken| broken.into_inner());
        list.append(&mut self.items);
        self.owned = 0;
        Ok(Step::Done)
    }

    fn held_bytes(&self) -> usize {
        self.items.capacity() * size_of::<T>() + self.owned
    }
}

/// The processor of [`for_each`].
pub struct ForEach<T, F> {
    each: F,
    _item: PhantomData<fn(T)>,
}

impl<T, F> Processor for ForEach<T, F>
where
    T: Send + 'static,
    F: FnMut(T) + Send + 'static,
{
    type In = Many<T>;
    type Out = ();

    fn process(&mut self, inbox: &mut Inbox<Many<T>>, _: &mut Outbox<()>) -> Result<Step, Failure> {
        inbox.drain().for_each(&mut self.each);
        Ok(Step::Again)
    }
}
