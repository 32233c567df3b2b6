//! Answers that many requests share.

use crate::Data;
use crate::message::record;
use uuid::Uuid;

record! {
    /// It is done; there is nothing to say.
    Done {}
}

record! {
    /// Yes or no.
    Flag {
        /// Which.
        value: bool,
    }
}

record! {
    /// A value, if there is one.
    Found {
        /// The value.
        value: Option<Data>,
    }
}

record! {
    /// A number of things, or a position.
    Count {
        /// The number.
        value: i32,
    }
}

record! {
    /// A listener is registered.
    Registered {
        /// What it is known by from now on.
        registration: Uuid,
    }
}

record! {
    /// Any number of values.
    Items {
        /// The values.
        values: Vec<Data>,
    }
}

record! {
    /// Any number of keys with their values.
    Pairs {
        /// The entries.
        entries: Vec<(Data, Data)>,
    }
}

record! {
    /// Any number of values, which may be null.
    Projected {
        /// The values.
        values: Vec<Option<Data>>,
    }
}

record! {
    /// A number of 64 bits.
    Number {
        /// The number.
        value: i64,
    }
}
