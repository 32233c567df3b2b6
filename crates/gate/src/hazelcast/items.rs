//! Listeners of lists and queues, which hear of items.

use super::call::Call;
use super::failure::Handled;
use bytes::BytesMut;
use filbert_grid::{ItemChange, ItemEvent as GridEvent};
use filbert_wire::message::{Raises, Request, encode_event};
use filbert_wire::messages::answers::Registered;
use filbert_wire::messages::list::ItemEvent;
use filbert_wire::partition_of_name;
use std::sync::Arc;
use uuid::Uuid;

/// A structure whose items are listened to.
pub(super) trait Listened: Send + Sync + 'static {
    fn add(&self, include_value: bool, listener: impl Fn(&GridEvent) + Send + Sync + 'static) -> Uuid;
    fn remove(&self, id: Uuid) -> bool;
}

/// Registers a listener for the connection.
pub(super) fn listen<S, R>(structure: &Arc<S>, call: Call<'_, R>, name: &str, include_value: bool) -> Handled
where
    S: Listened,
    R: Request<Response = Registered> + Raises<ItemEvent>,
{
    call.check_listeners()?;
    let (outlet, correlation, partition) =
        (call.outlet().clone(), call.correlation(), Some(partition_of_name(name)));
    let registration = structure.add(include_value, move |event| {
        let event_type = match event.change {
            ItemChange::Added => 1,
            ItemChange::Removed => 2,
        };
        let event = ItemEvent { item: event.item.clone(), uuid: event.member, event_type };
        let mut out = BytesMut::new();
        encode_event(&event, R::EVENT_ID, correlation, partition, &mut out);
        // A connection that is gone listens no more.
        let _ = outlet.send(out);
    });
    let listened = Arc::clone(structure);
    call.desk.registrations.add(registration, move || listened.remove(registration));
    call.now(Registered { registration })
}
