//! Messages with something wrong: valid ones of every kind, changed.

use bytes::BytesMut;
use filbert_wire::Data;
use filbert_wire::message::{Request, Version, sample};
use filbert_wire::messages::{MESSAGES, map};

/// Predicates, aggregators and projections as the Python client writes them.
const QUERIES: &str = include_str!("../../../grid/tests/vectors/python_queries.tsv");

/// Lengths and numbers that nobody sane sends.
pub(crate) const ODD: [i32; 14] = [
    0,
    1,
    -1,
    5,
    6,
    7,
    (4 << 10) - 1,
    4 << 10,
    (4 << 10) + 1,
    16 << 20,
    (16 << 20) + 1,
    i32::MAX,
    i32::MIN,
    0x0101_0101,
];

/// Where the frames of a message begin; the last item is where it ends.
fn frames(message: &[u8]) -> Vec<usize> {
    let mut starts = vec![0];
    let mut at = 0;
    while let Some(length) = message.get(at..at + 4) {
        let length = i32::from_le_bytes(length.try_into().unwrap());
        at += usize::try_from(length).unwrap_or(0).max(6);
        starts.push(at.min(message.len()));
        if at >= message.len() {
            break;
        }
    }
    starts
}

/// Makes messages, from a seed.
pub(crate) struct Mutator {
    state: u64,
    queries: Vec<(&'static str, Data)>,
}

impl Mutator {
    pub(crate) fn new(seed: u64) -> Self {
        let queries = QUERIES.lines().filter(|line| !line.starts_with('#')).map(|line| {
            let mut columns = line.split('\t');
            let (kind, _name, hex) =
                (columns.next().unwrap(), columns.next().unwrap(), columns.next().unwrap());
            let byte = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
            let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
            (kind, Data::from_bytes(bytes).unwrap())
        });
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, queries: queries.collect() }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.state >> 16
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// A message that could come; which is not always one that a client sends.
    fn valid(&mut self) -> BytesMut {
        let mut out = BytesMut::new();
        let correlation = self.next() as i64;
        if self.below(8) == 0 {
            self.query(correlation, &mut out);
            return out;
        }
        let row = &MESSAGES[self.below(MESSAGES.len())];
        let part = match self.below(20) {
            0 => &row.response,
            1 => row.events.first().unwrap_or(&row.request),
            _ => &row.request,
        };
        // Few different numbers make few different names and keys: operations that meet each other.
        let mask = [3, 0xff, u64::MAX][self.below(3)];
        sample(part, Version::NEWEST, correlation, &mut || self.next() & mask, &mut out);
        out
    }

    /// A query that means something.
    fn query(&mut self, correlation: i64, out: &mut BytesMut) {
        let query = self.below(self.queries.len());
        let (kind, data) = self.queries[query].clone();
        let name = "aB"[..self.below(2) + 1].to_owned();
        let name = name.as_str();
        match (kind, self.below(4)) {
            ("aggregator", _) => {
                map::Aggregate { name: name.into(), aggregator: data }.encode(correlation, -1, out);
            }
            ("projection", _) => {
                map::Project { name: name.into(), projection: data }.encode(correlation, -1, out);
            }
            (_, 0) => {
                map::KeySetWithPredicate { name: name.into(), predicate: data }.encode(correlation, -1, out)
            }
            (_, 1) => {
                map::ValuesWithPredicate { name: name.into(), predicate: data }.encode(correlation, -1, out)
            }
            (_, 2) => map::RemoveAll { name: name.into(), predicate: data }.encode(correlation, -1, out),
            _ => map::AddEntryListenerWithPredicate {
                name: name.into(),
                predicate: data,
                include_value: true,
                listener_flags: 127,
                local_only: false,
            }
            .encode(correlation, -1, out),
        }
    }

    /// A message with something wrong inside; its frames are as long as they say.
    pub(crate) fn soft(&mut self) -> BytesMut {
        let mut message = self.valid();
        for _ in 0..self.below(3) {
            let starts = frames(&message);
            let (start, end) = {
                let frame = self.below(starts.len() - 1);
                (starts[frame], starts[frame + 1])
            };
            match self.below(6) {
                // A flag; but not the one that ends the message, or the next would be taken for its rest.
                0 if end > start + 6 => message[start + 5] ^= 1 << self.below(5),
                1 if end < message.len() => {
                    let twice = message[start..end].to_vec();
                    let rest = message.split_off(end);
                    message.extend_from_slice(&twice);
                    message.extend_from_slice(&rest);
                }
                2 if start > 0 && end < message.len() => {
                    let rest = message.split_off(end);
                    message.truncate(start);
                    message.extend_from_slice(&rest);
                }
                3 if end >= start + 10 => {
                    let at = start + 6 + self.below(end - start - 9);
                    let odd = ODD[self.below(ODD.len())];
                    let odd = if self.below(2) == 0 { odd.to_be_bytes() } else { odd.to_le_bytes() };
                    message[at..at + 4].copy_from_slice(&odd);
                }
                4 => {
                    // The first frames of one with the last frames of another.
                    let other = self.valid();
                    let cut = frames(&other);
                    let cut = cut[self.below(cut.len() - 1)];
                    if start > 0 && cut > 0 {
                        message.truncate(start);
                        message.extend_from_slice(&other[cut..]);
                    }
                }
                _ if end > start + 6 => {
                    let at = start + 6 + self.below(end - start - 6);
                    message[at] = if self.below(2) == 0 {
                        self.next() as u8
                    } else {
                        message[at] ^ (1 << self.below(8))
                    };
                }
                _ => {}
            }
        }
        if self.below(10) == 0 { self.fragments(&message) } else { message }
    }

    /// The same message in two fragments, now and then in the wrong order or without one.
    fn fragments(&mut self, message: &[u8]) -> BytesMut {
        let starts = frames(message);
        let middle = starts[self.below(starts.len())];
        let id = self.next() as i64 & 7;
        let piece = |flags: u16, content: &[u8]| {
            let mut out = Vec::new();
            out.extend_from_slice(&14_i32.to_le_bytes());
            out.extend_from_slice(&flags.to_le_bytes());
            out.extend_from_slice(&id.to_le_bytes());
            out.extend_from_slice(content);
            out
        };
        let mut first = piece(0x8000, &message[..middle]);
        // Its last frame ends the fragment.
        if let [.., start, _] = frames(&first)[..]
            && let Some(flags) = first.get_mut(start + 5)
        {
            *flags |= 0x20;
        }
        let last = piece(0x4000, &message[middle..]);
        let order = match self.below(6) {
            0 => vec![last, first],
            1 => vec![first],
            2 => vec![last],
            3 => vec![first.clone(), first],
            _ => vec![first, last],
        };
        order.concat().as_slice().into()
    }

    /// A message whose frames are not what they say: whatever comes after it makes no sense.
    pub(crate) fn hard(&mut self) -> BytesMut {
        let mut message = self.soft();
        let starts = frames(&message);
        let start = starts[self.below(starts.len())].min(message.len() - 1);
        match self.below(4) {
            0 => message.truncate(start.max(1)),
            1 if start + 4 <= message.len() => {
                let odd = ODD[self.below(ODD.len())];
                message[start..start + 4].copy_from_slice(&odd.to_le_bytes());
            }
            2 if start + 6 <= message.len() => {
                message[start + 4] = self.next() as u8;
                message[start + 5] = self.next() as u8;
            }
            _ => {
                let at = self.below(message.len());
                message[at] = self.next() as u8;
            }
        }
        message
    }
}
