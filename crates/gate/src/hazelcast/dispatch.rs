//! Which messages are served, what each needs, and who handles it: one table.
//!
//! A request for a structure reaches its handler only with that structure, opened under the right that its row names; so no handler
//! can forget the check. What has no row is answered with the protocol's "unsupported operation", and the connection lives on.

use super::call::{Call, Desk};
use super::connect;
use super::failure::{Failure, Handled};
use super::handles::Handles;
use filbert_grid::{Action, Service};
use filbert_net::Outbound;
use filbert_wire::message::{MessageReader, Request};
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::{MESSAGES, client};

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
}

impl Guest {
    #[cold]
    fn unsupported(&self, id: u32) -> Failure {
        self.desk.host.counters.unsupported.add();
        let known = MESSAGES.iter().find(|row| row.id == id).map(|row| row.name);
        Failure::unsupported(&format!("message {id:#08x} ({})", known.unwrap_or("of no service that is known here")))
    }

    /// The connection is gone: what it had goes too.
    pub(super) fn leave(&mut self) {
        self.desk.waiters.end();
        self.desk.registrations.clear();
        self.desk.host.clients.leave(self.desk.identity.client);
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
