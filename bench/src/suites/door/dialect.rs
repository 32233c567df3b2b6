//! What the load generator says: get and set of one key in the words of Redis, and in those of Hazelcast's clients.
//!
//! All requests are encoded before the clock runs, so the generator costs the same whichever server it talks to.

use bytes::{Bytes, BytesMut};
use filbert_wire::message::Request;
use filbert_wire::messages::client::Authentication;
use filbert_wire::messages::map::{Get, Set};
use filbert_wire::{Data, ToData};
use std::io::{Error, Read, Result, Write};
use std::net::TcpStream;

/// The bytes of every value.
pub(super) const VALUE: usize = 32;

/// One protocol: its requests, and where an answer ends.
#[derive(Debug)]
pub(super) struct Dialect {
    kind: Kind,
    /// A get and a set for each key.
    pub(super) gets: Vec<Bytes>,
    pub(super) sets: Vec<Bytes>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Redis,
    Hazelcast,
}

fn key(number: usize) -> String {
    format!("key:{number:010}")
}

/// A value that says which key it belongs to.
fn value(number: usize) -> String {
    format!("{number:0VALUE$}")
}

impl Dialect {
    pub(super) fn redis(keys: usize) -> Self {
        let command = |words: &[&str]| {
            let mut text = format!("*{}\r\n", words.len());
            for word in words {
                text += &format!("${}\r\n{word}\r\n", word.len());
            }
            Bytes::from(text)
        };
        Self {
            kind: Kind::Redis,
            gets: (0..keys).map(|number| command(&["GET", &key(number)])).collect(),
            sets: (0..keys).map(|number| command(&["SET", &key(number), &value(number)])).collect(),
        }
    }

    pub(super) fn hazelcast(keys: usize) -> Self {
        let data = |text: String| -> Data { text.to_data().expect("a string") };
        let encoded = |request: &dyn Fn(&mut BytesMut)| {
            let mut bytes = BytesMut::new();
            request(&mut bytes);
            bytes.freeze()
        };
        let name = || "bench".into();
        let get = |number: usize| {
            let key = data(key(number));
            let partition = key.partition().number() as i32;
            encoded(&|out| {
                Get { name: name(), key: key.clone(), thread_id: 1 }.encode(number as i64, partition, out)
            })
        };
        let set = |number: usize| {
            let (key, value) = (data(key(number)), data(value(number)));
            let partition = key.partition().number() as i32;
            let set = Set { name: name(), key, value, thread_id: 1, ttl_ms: -1 };
            encoded(&|out| set.encode(number as i64, partition, out))
        };
        Self { kind: Kind::Hazelcast, gets: (0..keys).map(get).collect(), sets: (0..keys).map(set).collect() }
    }

    /// Does what comes before the first request, blocking.
    pub(super) fn greet(&self, stream: &mut TcpStream) -> Result<()> {
        if self.kind == Kind::Redis {
            return Ok(());
        }
        let login = Authentication {
            cluster_name: "dev".into(),
            username: None,
            password: None,
            uuid: Some(uuid::Uuid::from_u128(0xF11BE87)),
            client_type: "PYH".into(),
            serialization_version: 1,
            client_hazelcast_version: "5.5.0".into(),
            client_name: "bench".into(),
            labels: Vec::new(),
            routing_mode: 0,
            cp_direct_to_leader_routing: false,
        };
        let mut bytes = BytesMut::from(&b"CP2"[..]);
        login.encode(1, -1, &mut bytes);
        stream.write_all(&bytes)?;
        let mut answer = Vec::new();
        let mut chunk = [0; 4096];
        while self.answer(&answer).is_none() {
            let read = stream.read(&mut chunk)?;
            if read == 0 {
                return Err(Error::other("the server closed the connection at login"));
            }
            answer.extend_from_slice(&chunk[..read]);
        }
        Ok(())
    }

    /// The length of the answer at the beginning of `input`; none when it is not whole.
    pub(super) fn answer(&self, input: &[u8]) -> Option<usize> {
        match self.kind {
            Kind::Redis => redis_answer(input),
            Kind::Hazelcast => hazelcast_answer(input),
        }
    }

    /// The key that a whole answer is about; none where answers come in the order of their requests.
    ///
    /// A Hazelcast member may answer out of order, and each request carries the number of its key as its correlation.
    pub(super) fn key_of(&self, answer: &[u8]) -> Option<usize> {
        const CORRELATION: std::ops::Range<usize> = 10..18;
        match self.kind {
            Kind::Redis => None,
            Kind::Hazelcast => {
                let bytes = answer.get(CORRELATION)?.try_into().ok()?;
                usize::try_from(i64::from_le_bytes(bytes)).ok()
            }
        }
    }

    /// Says what is wrong with the answer to a get of a key that exists.
    pub(super) fn check_hit(&self, answer: &[u8], number: usize) -> std::result::Result<(), String> {
        let expected = value(number);
        let held = answer.windows(VALUE).any(|bytes| bytes == expected.as_bytes());
        if held { Ok(()) } else { Err(format!("the answer does not hold the value of {}", key(number))) }
    }
}

fn redis_answer(input: &[u8]) -> Option<usize> {
    let line = input.iter().position(|byte| *byte == b'\n')? + 1;
    match input[0] {
        b'$' => {
            let length: i64 = std::str::from_utf8(&input[1..line - 2]).ok()?.parse().ok()?;
            if length < 0 {
                return Some(line);
            }
            let whole = line + length as usize + 2;
            (input.len() >= whole).then_some(whole)
        }
        _ => Some(line),
    }
}

/// Frames until one says that it is the last.
fn hazelcast_answer(input: &[u8]) -> Option<usize> {
    const FINAL: u16 = 0x2000;
    let mut at = 0;
    loop {
        let header = input.get(at..at + 6)?;
        let length = i32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let flags = u16::from_le_bytes([header[4], header[5]]);
        at += length.max(6);
        if flags & FINAL != 0 {
            return (input.len() >= at).then_some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_end_where_they_end() {
        assert_eq!(redis_answer(b"+OK\r\n+O"), Some(5));
        assert_eq!(redis_answer(b"$3\r\nabc\r\n"), Some(9));
        assert_eq!(redis_answer(b"$3\r\nabc\r"), None);
        assert_eq!(redis_answer(b"$-1\r\n"), Some(5));
        let dialect = Dialect::hazelcast(1);
        let whole = dialect.gets[0].len();
        assert_eq!(dialect.answer(&dialect.gets[0]), Some(whole));
        assert_eq!(dialect.answer(&dialect.gets[0][..whole - 1]), None);
        assert_eq!(Dialect::hazelcast(3).key_of(&Dialect::hazelcast(3).sets[2]), Some(2));
    }
}
