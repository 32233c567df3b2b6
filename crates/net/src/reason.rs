//! Why a connection was refused or ended: a word each, counted, so that an operator sees what happens without a log.

macro_rules! reasons {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// All of them, in the order of their numbers.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The word that metrics and logs use.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

reasons! {
    /// Why a connection ended.
    CloseReason {
        /// The peer ended it.
        PeerClosed = "peer_closed",
        /// The network or the peer broke it.
        Broken = "broken",
        /// The protocol ended it, with or without a complaint.
        Protocol = "protocol",
        /// A message was longer than the protocol, or the bound before login, allows.
        TooLarge = "too_large",
        /// The TLS handshake failed: no certificate, a wrong one, or no TLS at all.
        HandshakeFailed = "handshake_failed",
        /// The TLS handshake took too long.
        HandshakeTimeout = "handshake_timeout",
        /// The peer did not log in in time.
        LoginTimeout = "login_timeout",
        /// Nothing was received for too long.
        Idle = "idle",
        /// The peer took nothing of what waits for it for too long.
        Stalled = "stalled",
        /// More waits for the peer than may.
        Overflow = "overflow",
        /// It had not logged in, and made room for a newcomer: there were as many connections as there may be.
        Displaced = "displaced",
        /// The user that logged in there was removed or changed.
        UserChanged = "user_changed",
        /// [`Outlet::close`](crate::Outlet::close) was called.
        Asked = "asked",
        /// It was drained: all it was owed was sent.
        Drained = "drained",
        /// The door was closed, or a drain took too long.
        DoorClosed = "door_closed",
        /// The stages ended under it.
        StagesEnded = "stages_ended",
        /// The protocol's code panicked.
        Panicked = "panicked",
    }
}

reasons! {
    /// Why a connection was not taken at all.
    RefuseReason {
        /// There are as many connections as there may be.
        TooMany = "too_many",
        /// There are as many connections from that address as there may be.
        TooManyFromAddress = "too_many_from_address",
        /// The `io` stage takes no more tasks.
        Overloaded = "overloaded",
        /// The system could not accept: most often there are no file descriptors left.
        AcceptFailed = "accept_failed",
    }
}
