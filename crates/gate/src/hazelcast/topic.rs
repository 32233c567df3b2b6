//! Topics.

use super::answers::{done, handlers};
use super::call::Call;
use super::failure::Handled;
use bytes::BytesMut;
use filbert_grid::Topic;
use filbert_wire::message::{Raises, encode_event};
use filbert_wire::messages::answers::{Flag, Registered};
use filbert_wire::messages::topic as t;
use filbert_wire::partition_of_name;
use std::sync::Arc;

handlers! {
    Arc<Topic>;
    publish(t::Publish) |topic, request| topic.publish(&request.message) => done;
    publish_all(t::PublishAll) |topic, request| topic.publish_all(request.messages.clone()) => done;
}

pub(super) fn add_message_listener(
    topic: &Arc<Topic>,
    call: Call<'_, t::AddMessageListener>,
    request: t::AddMessageListener,
) -> Handled {
    call.check_listeners()?;
    let (outlet, correlation) = (call.outlet().clone(), call.correlation());
    let (id, partition) = (
        <t::AddMessageListener as Raises<t::MessageEvent>>::EVENT_ID,
        Some(partition_of_name(&request.name)),
    );
    let registration = topic.add_listener(move |message| {
        let event = t::MessageEvent {
            item: message.data.clone(),
            publish_time_ms: i64::try_from(message.publish_time_ms).unwrap_or(i64::MAX),
            uuid: message.member,
        };
        let mut out = BytesMut::new();
        encode_event(&event, id, correlation, partition, &mut out);
        // A connection that is gone listens no more.
        let _ = outlet.send(out);
    });
    let listened = Arc::clone(topic);
    call.desk.registrations.add(registration, move || listened.remove_listener(registration));
    call.now(Registered { registration })
}

pub(super) fn remove_message_listener(
    _topic: &Arc<Topic>,
    call: Call<'_, t::RemoveMessageListener>,
    request: t::RemoveMessageListener,
) -> Handled {
    let value = call.desk.registrations.remove(request.registration_id);
    call.now(Flag { value })
}
