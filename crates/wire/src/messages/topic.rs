//! Topics.

use super::answers::{Done, Flag, Registered};
use super::service;
use crate::Data;
use crate::field::Text;
use crate::message::record;
use uuid::Uuid;

record! {
    /// A message was published.
    MessageEvent {
        /// The message.
        item: Data,
        /// When, in milliseconds since 1970.
        publish_time_ms: i64,
        /// The member that published it.
        uuid: Uuid,
    }
}

service! {
    "Topic" = 0x04;
    0x01 "publish" Publish { name: Text, message: Data } => Done;
    0x02 "addMessageListener" AddMessageListener {
        name: Text, local_only: bool,
    } => Registered raises 2 MessageEvent "Topic";
    0x03 "removeMessageListener" RemoveMessageListener { name: Text, registration_id: Uuid } => Flag;
    0x04 "publishAll" [since V2_1] PublishAll { name: Text, messages: Vec<Data> } => Done;
}
