//! The edge of event time: items to the consumer of their key, watermarks to all.

use super::builder::{Edge, ForwardingCode};
use super::link::{Lanes, Link, RoutedLink, Router};
use super::router::share;
use super::wiring::{MakeLink, Producer};
use crate::event_time::Event;
use crate::transform::Keying;
use filbert_sync::conveyor::Sender;
use foldhash::fast::FixedState;

const HASH_SEED: u64 = 0xe7e4_75ed;

/// Makes the links of such an edge.
struct MakeEvents<K>(K);

impl<T: Send + 'static, K: Keying<T>> MakeLink<Event<T>> for MakeEvents<K> {
    fn link(&self, senders: Vec<Sender<Event<T>>>, _: Producer) -> Box<dyn Link<Event<T>>> {
        let hasher = FixedState::with_seed(HASH_SEED);
        Box::new(RoutedLink::new(senders, Events { keying: self.0.clone(), hasher }))
    }
}

impl<T: Send + 'static> Edge<Event<T>> {
    /// Items with equal keys to the same processor, watermarks to every one.
    pub(crate) fn events<K: Keying<T>>(self, keying: K) -> Self {
        self.forwarded(ForwardingCode::Closure, Box::new(MakeEvents(keying)))
            .counting(|event| matches!(event, Event::Item { .. }))
    }
}

struct Events<K> {
    keying: K,
    hasher: FixedState,
}

impl<T, K: Keying<T>> Router<Event<T>> for Events<K> {
    fn route(&mut self, events: &mut Vec<Event<T>>, lanes: &mut Lanes<Event<T>>) {
        let consumers = lanes.count();
        for event in events.drain(..) {
            match &event {
                Event::Item { item, .. } => {
                    let hash = self.keying.hash(&self.hasher, item);
                    lanes.held[share(hash, consumers as u64) as usize].push(event);
                }
                Event::Watermark(watermark) => {
                    for consumer in 0..consumers {
                        if lanes.is_open(consumer) {
                            lanes.held[consumer].push(Event::Watermark(*watermark));
                        }
                    }
                }
            }
        }
    }
}
