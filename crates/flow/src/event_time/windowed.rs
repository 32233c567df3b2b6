//! What all kinds of windows share: how far their producers are, and what follows from that.

use super::{Coalescer, Event, LateItems};
use crate::counters::Counters;
use crate::processor::ProcessorContext;
use crate::transform::{Receiver, Transform};
use std::sync::Arc;

/// Open windows of one kind. They are told the watermark, and keep none themselves.
pub trait Windows<T>: Send + 'static {
    /// What a window gives.
    type Out: Send + 'static;

    /// Takes an item into the windows that are open for it; into none, and false, if it is late.
    fn add(&mut self, time: i64, item: T, watermark: i64) -> bool;

    /// Puts the windows that are over; true when all are.
    fn close<R: Receiver<Self::Out>>(&mut self, watermark: i64, to: &mut R) -> bool;

    /// True when some that are over were not put yet.
    fn is_due(&self, watermark: i64) -> bool;

    /// Returns the bytes that open windows take, about.
    fn held_bytes(&self) -> usize;
}

/// The transform of all windows.
pub struct Windowed<W> {
    windows: W,
    producers: Coalescer,
    watermark: i64,
    /// Of the user, and of the job's metrics.
    late: LateItems,
    counters: Option<Arc<Counters>>,
}

impl<W> Windowed<W> {
    pub(super) fn new(windows: W, late: &LateItems) -> Self {
        let (producers, watermark) = (Coalescer::default(), i64::MIN);
        Self { windows, producers, watermark, late: late.clone(), counters: None }
    }
}

impl<T: Send + 'static, W: Windows<T>> Transform<Event<T>> for Windowed<W> {
    type Out = W::Out;
    const AT_MOST_ONE: bool = false;

    fn push<R: Receiver<Self::Out>>(&mut self, event: Event<T>, to: &mut R) {
        match event {
            Event::Item { time, item } => {
                if !self.windows.add(time, item, self.watermark) {
                    self.late.add(1);
                    if let Some(counters) = &self.counters {
                        counters.late.add(1);
                    }
                }
            }
            Event::Watermark(watermark) => {
                if let Some(time) = self.producers.hear(watermark) {
                    self.watermark = self.watermark.max(time);
                    self.windows.close(self.watermark, to);
                }
            }
        }
    }

    fn is_suspended(&self) -> bool {
        self.windows.is_due(self.watermark)
    }

    fn resume<R: Receiver<Self::Out>>(&mut self, to: &mut R) -> bool {
        self.windows.close(self.watermark, to)
    }

    fn finish<R: Receiver<Self::Out>>(&mut self, to: &mut R) -> bool {
        self.watermark = i64::MAX;
        self.windows.close(self.watermark, to)
    }

    fn init(&mut self, context: &ProcessorContext<'_>) {
        self.counters = Some(Arc::clone(context.counters));
    }

    fn held_bytes(&self) -> usize {
        self.windows.held_bytes()
    }
}
