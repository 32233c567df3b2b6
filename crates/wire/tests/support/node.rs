//! A Compact value with fields of many kinds, and with itself within.

use filbert_wire::{Compact, Decimal, OffsetDateTime};

#[derive(Debug, Clone, PartialEq, Compact)]
pub(crate) struct Node {
    pub(crate) number: i32,
    flag: bool,
    text: Option<String>,
    when: Option<OffsetDateTime>,
    price: Option<Decimal>,
    flags: Option<Vec<bool>>,
    words: Option<Vec<Option<String>>>,
    counts: Option<Vec<Option<i64>>>,
    first: Option<Box<Node>>,
    rest: Option<Vec<Node>>,
}

pub(crate) fn node(depth: usize) -> Node {
    Node {
        number: 7,
        flag: true,
        text: Some("text".into()),
        when: None,
        price: Some(Decimal::new(1250, 2)),
        flags: Some(vec![true; 11]),
        words: Some(vec![Some("a".into()), None]),
        counts: Some(vec![None, Some(5)]),
        first: (depth > 0).then(|| Box::new(node(depth - 1))),
        rest: Some((0..depth).map(node).collect()),
    }
}
