//! A type of items that is known by its name only: makes the edges that carry it.

use super::{FlowRegistry, MakeKey};
use crate::edge::router::WholeItem;
use crate::edge::wiring::{MakeBroadcast, MakeHashed, MakeLink, MakeToOne, MakeUnicast, Wire, Wiring};
use crate::edge::{ForwardingCode, ItemCodec};
use std::any::TypeId;
use std::hash::Hash;
use std::sync::Arc;

/// What is missing for an edge.
pub(super) struct Missing {
    pub(super) what: &'static str,
    pub(super) name: String,
}

/// A type of items without the type.
pub(super) trait AnyItems: Send + Sync {
    /// What carries items of this type.
    fn wire(
        &self,
        forwarding: &ForwardingCode,
        has_codec: bool,
        registry: &FlowRegistry,
    ) -> Result<Arc<dyn Wire>, Missing>;
}

pub(super) struct ItemsOf<T> {
    codec: Option<Arc<dyn ItemCodec<T>>>,
}

impl<T> ItemsOf<T> {
    pub(super) fn new(codec: Option<Arc<dyn ItemCodec<T>>>) -> Self {
        Self { codec }
    }
}

impl<T: Clone + Hash + Send + 'static> AnyItems for ItemsOf<T> {
    fn wire(
        &self,
        forwarding: &ForwardingCode,
        has_codec: bool,
        registry: &FlowRegistry,
    ) -> Result<Arc<dyn Wire>, Missing> {
        let make: Box<dyn MakeLink<T>> = match forwarding {
            ForwardingCode::Unicast => Box::new(MakeUnicast),
            ForwardingCode::Broadcast => Box::new(MakeBroadcast),
            ForwardingCode::AllToOne => Box::new(MakeToOne),
            ForwardingCode::WholeItem => Box::new(MakeHashed(Arc::new(WholeItem))),
            ForwardingCode::Closure => return Err(Missing { what: "key", name: "(a closure)".to_owned() }),
            ForwardingCode::Key(name) => {
                let key = registry.keys.get(&(name.clone(), TypeId::of::<T>()));
                match key.and_then(|key| key.downcast_ref::<Arc<dyn MakeKey<T>>>()) {
                    Some(key) => key.link(),
                    None => return Err(Missing { what: "key", name: name.clone() }),
                }
            }
        };
        if has_codec && self.codec.is_none() {
            return Err(Missing { what: "codec of", name: std::any::type_name::<T>().to_owned() });
        }
        let codec = self.codec.clone().filter(|_| has_codec);
        Ok(Arc::new(Wiring { make, copy: Some(T::clone), codec, is_item: None }))
    }
}
