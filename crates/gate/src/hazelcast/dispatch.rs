//! Which messages are served, what each needs, and who handles it: one table.
//!
//! A request for a structure reaches its handler only with that structure, opened under the right that its row names; so no handler
//! can forget the check. What has no row is answered with the protocol's "unsupported operation", and the connection lives on.

use super::call::{Call, Desk};
use super::connect;
use super::failure::{Failure, Handled};
use super::handles::Handles;
use super::map;
use filbert_grid::{Action, Map, Service};
use filbert_net::Outbound;
use filbert_wire::message::{MessageReader, Request};
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::{MESSAGES, client, map as m};

/// What a client needs so that a message is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Need {
    /// To be logged in; where structures are named in it, the handler looks at the rights for each.
    Login,
    /// The right to that action on the structure that the message names.
    Right(Service, Action),
}

/// A message that is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Served {
    /// Its type.
    pub id: u32,
    /// Service and method, such as `Map.put`.
    pub name: &'static str,
    /// What a client needs for it.
    pub need: Need,
}

macro_rules! served {
    (
        login { $($login:ty => $login_handler:path;)* }
        $($service:ident in $handles:ident: $structure:ty { $($action:ident $request:ty => $handler:path;)* })*
    ) => {
        /// Every message that is served, service by service.
        pub static SERVED: &[Served] = &[
            $(Served { id: <$login as Request>::ID, name: <$login as Request>::NAME, need: Need::Login },)*
            $($(Served {
                id: <$request as Request>::ID,
                name: <$request as Request>::NAME,
                need: Need::Right(Service::$service, Action::$action),
            },)*)*
        ];

        /// A client that is logged in, with what it uses.
        #[derive(Debug)]
        pub(super) struct Guest {
            pub(super) desk: Desk,
            $($handles: Handles<$structure>,)*
        }

        impl Guest {
            pub(super) fn new(desk: Desk) -> Self {
                Self { desk, $($handles: Handles::default(),)* }
            }

            /// Finds the handler of a message and runs it.
            #[inline]
            fn handle(&mut self, reader: &MessageReader, out: &mut Outbound) -> Handled {
                let correlation = reader.correlation();
                match reader.id() {
                    $($(<$request as Request>::ID => {
                        let request = self.desk.decode::<$request>(reader)?;
                        let structure = self.$handles.open(&request.name, Action::$action, &self.desk)?;
                        $handler(structure, Call::new(&mut self.desk, out, correlation), request)
                    })*)*
                    $(<$login as Request>::ID => {
                        let request = self.desk.decode::<$login>(reader)?;
                        $login_handler(Call::new(&mut self.desk, out, correlation), request)
                    })*
                    other => Err(self.unsupported(other)),
                }
            }
        }
    };
}

served! {
    login {
        client::Authentication => connect::logged_in_already;
        client::AuthenticationCustom => connect::logged_in_already;
        client::AddClusterViewListener => connect::add_cluster_view_listener;
        client::CreateProxy => connect::create_proxy;
        client::DestroyProxy => connect::destroy_proxy;
        client::GetDistributedObjects => connect::get_distributed_objects;
        client::AddDistributedObjectListener => connect::add_distributed_object_listener;
        client::RemoveDistributedObjectListener => connect::remove_distributed_object_listener;
        client::Ping => connect::ping;
        client::Statistics => connect::statistics;
        client::CreateProxies => connect::create_proxies;
        client::LocalBackupListener => connect::local_backup_listener;
    }
    Map in maps: Map {
        Put m::Put => map::put;
        Read m::Get => map::get;
        Remove m::Remove => map::remove;
        Put m::Replace => map::replace;
        Put m::ReplaceIfSame => map::replace_if_same;
        Read m::ContainsKey => map::contains_key;
        Read m::ContainsValue => map::contains_value;
        Remove m::RemoveIfSame => map::remove_if_same;
        Remove m::Delete => map::delete;
        Put m::Flush => map::flush;
        Remove m::TryRemove => map::try_remove;
        Put m::TryPut => map::try_put;
        Put m::PutTransient => map::put_transient;
        Put m::PutIfAbsent => map::put_if_absent;
        Put m::Set => map::set;
        Lock m::Lock => map::lock;
        Lock m::TryLock => map::try_lock;
        Lock m::IsLocked => map::is_locked;
        Lock m::Unlock => map::unlock;
        Listen m::AddEntryListenerToKey => map::add_entry_listener_to_key;
        Listen m::AddEntryListener => map::add_entry_listener;
        Listen m::RemoveEntryListener => map::remove_entry_listener;
        Listen m::AddPartitionLostListener => map::add_partition_lost_listener;
        Listen m::RemovePartitionLostListener => map::remove_partition_lost_listener;
        Read m::GetEntryView => map::get_entry_view;
        Remove m::Evict => map::evict;
        Remove m::EvictAll => map::evict_all;
        Put m::LoadAll => map::load_all;
        Put m::LoadGivenKeys => map::load_given_keys;
        Read m::KeySet => map::key_set;
        Read m::GetAll => map::get_all;
        Read m::Values => map::values;
        Read m::EntrySet => map::entry_set;
        Read m::Size => map::size;
        Read m::IsEmpty => map::is_empty;
        Put m::PutAll => map::put_all;
        Remove m::Clear => map::clear;
        Execute m::ExecuteOnKey => map::execute_on_key;
        Execute m::SubmitToKey => map::submit_to_key;
        Execute m::ExecuteOnAllKeys => map::execute_on_all_keys;
        Execute m::ExecuteOnKeys => map::execute_on_keys;
        Lock m::ForceUnlock => map::force_unlock;
        Put m::SetTtl => map::set_ttl;
        Put m::PutWithMaxIdle => map::put_with_max_idle;
        Put m::PutTransientWithMaxIdle => map::put_transient_with_max_idle;
        Put m::PutIfAbsentWithMaxIdle => map::put_if_absent_with_max_idle;
        Put m::SetWithMaxIdle => map::set_with_max_idle;
    }
}

impl Guest {
    #[cold]
    fn unsupported(&self, id: u32) -> Failure {
        self.desk.host.counters.unsupported.add();
        let known = MESSAGES.iter().find(|row| row.id == id).map(|row| row.name);
        Failure::unsupported(&format!("message {id:#08x} ({})", known.unwrap_or("of no service that is known here")))
    }
}

/// Handles one message; whatever comes of it, the client is answered.
#[inline]
pub(super) fn dispatch(guest: &mut Guest, reader: &MessageReader, out: &mut Outbound) {
    if let Err(failure) = guest.handle(reader, out) {
        if failure.code() == ErrorCode::Overload {
            guest.desk.host.counters.overloaded.add();
        }
        failure.encode(reader.correlation(), out.buffer());
    }
}
