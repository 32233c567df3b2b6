//! The messages that are spoken here, each declared once.
//!
//! A declaration names the method's number and name, the request's fields, and what answers it; the struct, its codec and its row of
//! [`MESSAGES`] follow. Field names are ours (units last); order, types, nulls and versions are the protocol's, version 2.8.
//!
//! To add a message: one declaration in its service's file. The tests take it up from the table.

pub mod answers;
pub mod client;
pub mod cp;
pub mod durable_executor;
pub mod error;
pub mod executor;
pub mod flake_id;
pub mod list;
pub mod map;
pub mod multi_map;
pub mod page;
pub mod pn_counter;
pub mod queue;
pub mod replicated_map;
pub mod ringbuffer;
pub mod scheduled_executor;
pub mod set;
pub mod sql;
pub mod structures;
pub mod topic;

use crate::message::MessageRow;

/// Every message, by service and method.
pub static MESSAGES: &[MessageRow] = &ROWS;

/// The message that a request, response or event of that id belongs to.
///
/// ```
/// use filbert_wire::messages::message_of;
///
/// assert_eq!(message_of(0x01_02_00).unwrap().name, "Map.get");
/// assert_eq!(message_of(0x01_02_01).unwrap().name, "Map.get");
/// assert!(message_of(0xfe_01_00).is_none());
/// ```
pub fn message_of(id: u32) -> Option<&'static MessageRow> {
    let place = MESSAGES.binary_search_by_key(&(id & !0xff), |row| row.id).ok()?;
    Some(&MESSAGES[place])
}

/// By the number of the service.
const PARTS: &[&[MessageRow]] = &[
    client::ROWS,
    map::ROWS,
    multi_map::ROWS,
    queue::ROWS,
    topic::ROWS,
    list::ROWS,
    set::ROWS,
    cp::fenced_lock::ROWS,
    executor::ROWS,
    cp::atomic_long::ROWS,
    cp::atomic_ref::ROWS,
    cp::latch::ROWS,
    cp::semaphore::ROWS,
    replicated_map::ROWS,
    ringbuffer::ROWS,
    durable_executor::ROWS,
    scheduled_executor::ROWS,
    flake_id::ROWS,
    pn_counter::ROWS,
    cp::group::ROWS,
    cp::session::ROWS,
    sql::ROWS,
];

const COUNT: usize = {
    let (mut count, mut part) = (0, 0);
    while part < PARTS.len() {
        count += PARTS[part].len();
        part += 1;
    }
    count
};

static ROWS: [MessageRow; COUNT] = {
    let mut rows = [client::ROWS[0]; COUNT];
    let (mut filled, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut row = 0;
        while row < PARTS[part].len() {
            rows[filled] = PARTS[part][row];
            filled += 1;
            row += 1;
        }
        part += 1;
    }
    rows
};

/// Declares the messages of a service. After `=>` stands what answers the request: one of [`answers`], or a record of its own with
/// its fields. After `raises` stand the events that follow, with their numbers (the first is 2) and the protocol's names.
macro_rules! service {
    (
        $service:literal = $number:literal;
        $(
            $(#[$doc:meta])*
            $method:literal $wire:literal $([since $since:ident])? $name:ident { $($fields:tt)* }
            => $response:ident $({ $($response_fields:tt)* })?
            $(raises $($event_number:literal $event:ident $event_name:literal),+)?;
        )*
    ) => {
        $(
            $crate::message::record! {
                $(#[$doc])*
                #[doc = concat!("The request `", $service, ".", $wire, "`; its answer is [`", stringify!($response), "`].")]
                $name { $($fields)* }
            }
            $($crate::message::record! {
                #[doc = concat!("The answer to `", $service, ".", $wire, "`.")]
                $response { $($response_fields)* }
            })?
            impl $crate::message::Request for $name {
                const ID: u32 = $number << 16 | $method << 8;
                const NAME: &'static str = concat!($service, ".", $wire);
                type Response = $response;
            }
            $($(
                impl $crate::message::Raises<$event> for $name {
                    const EVENT_ID: u32 = <$name as $crate::message::Request>::ID | $event_number;
                }
            )+)?
        )*

        pub(in crate::messages) const ROWS: &[$crate::message::MessageRow] = &[$(
            $crate::message::MessageRow {
                id: <$name as $crate::message::Request>::ID,
                name: <$name as $crate::message::Request>::NAME,
                service: $service,
                since: $crate::messages::service!(@since $($since)?),
                request: $crate::message::PartRow::request::<$name>(),
                response: $crate::message::PartRow::response::<$name>(),
                events: &[$($($crate::message::PartRow::event::<$name, $event>($event_name)),+)?],
            },
        )*];
    };
    (@since) => { $crate::message::Version::V2_0 };
    (@since $since:ident) => { $crate::message::Version::$since };
}

use service;
