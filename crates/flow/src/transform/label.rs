//! Keys that are text, told apart without a look at their bytes, which are elsewhere.
//!
//! A table holds a [`String`] as an address: to see whether it is the one that is looked for is a second visit to memory, which can not begin
//! before the first is answered. So tables keep a [`Label`] beside such a key. Of texts up to sixteen bytes, nearly all words, it says
//! everything, in two comparisons and no call; longer ones are compared after it, and only if it is the same.
//!
//! Measured: a count of the words of a zipfian text spent 22 ns a word in `memcmp`, waiting.

use std::any::{Any, TypeId};
use std::sync::Arc;

/// Up to how many bytes of text a label and a length say everything.
const WHOLE: usize = 16;

/// True for keys whose bytes are elsewhere, and which we know how to find there.
#[inline(always)]
pub(super) fn holds_text<K: 'static>() -> bool {
    let key = TypeId::of::<K>();
    key == TypeId::of::<String>() || key == TypeId::of::<&'static str>() || key == TypeId::of::<Arc<str>>()
}

/// The bytes of such a key. All of this is decided when it is compiled.
#[inline(always)]
fn text_of<K: 'static>(key: &K) -> Option<&[u8]> {
    let key: &dyn Any = key;
    if let Some(text) = key.downcast_ref::<String>() {
        return Some(text.as_bytes());
    }
    if let Some(text) = key.downcast_ref::<&'static str>() {
        return Some(text.as_bytes());
    }
    key.downcast_ref::<Arc<str>>().map(|text| text.as_bytes())
}

/// The bytes of a key that its label leaves unsaid.
#[inline(always)]
pub(super) fn unsaid<K: 'static>(key: &K) -> Option<&u8> {
    let text = text_of(key)?;
    if text.len() > WHOLE { text.get(text.len() / 2) } else { None }
}

/// What is kept beside a key to tell it from others.
pub(super) trait Mark<K>: Copy {
    fn of(key: &K) -> Self;

    /// True when this is the mark of `key`, and that is also the other's.
    fn is_same(self, key: &K, other: &(Self, (K, impl Sized))) -> bool;

    /// True when the group is that of the key.
    #[inline(always)]
    fn is_of(group: &(Self, (K, impl Sized)), key: &K) -> bool {
        Self::of(key).is_same(key, group)
    }
}

/// Keys that are at hand need none.
impl<K: Eq> Mark<K> for () {
    #[inline(always)]
    fn of(_: &K) {}

    #[inline(always)]
    fn is_same(self, key: &K, (_, other): &((), (K, impl Sized))) -> bool {
        *key == other.0
    }
}

/// The beginning and the end of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Label(u64, u64);

impl Label {
    /// Loads of a fixed size that overlap: a copy of so many bytes would be a call.
    #[inline(always)]
    fn of_text(text: &[u8]) -> Self {
        if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
            return Self(u64::from_ne_bytes(*first), u64::from_ne_bytes(*last));
        }
        if let (Some(first), Some(last)) = (text.first_chunk(), text.last_chunk()) {
            return Self(u32::from_ne_bytes(*first).into(), u32::from_ne_bytes(*last).into());
        }
        match text {
            [] => Self(0, 0),
            [first, .., last] => Self(u64::from(*first) << 8 | u64::from(*last), text[text.len() / 2].into()),
            [only] => Self((*only).into(), 0),
        }
    }
}

impl<K: Eq + 'static> Mark<K> for Label {
    #[inline(always)]
    fn of(key: &K) -> Self {
        text_of(key).map_or(Self(0, 0), Self::of_text)
    }

    #[inline(always)]
    fn is_same(self, key: &K, (label, other): &(Self, (K, impl Sized))) -> bool {
        if self != *label {
            return false;
        }
        match (text_of(key), text_of(&other.0)) {
            (Some(text), Some(other)) if text.len() <= WHOLE => text.len() == other.len(),
            _ => *key == other.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_same<K: Eq + 'static>(key: K, other: K) -> bool {
        Label::of(&key).is_same(&key, &(Label::of(&other), (other, ())))
    }

    #[test]
    fn every_byte_of_a_text_counts_and_its_length() {
        for length in 0..40 {
            let text = "a".repeat(length);
            assert!(is_same(text.clone(), text.clone()));
            assert!(!is_same(text.clone(), "a".repeat(length + 1)));
            for place in 0..length {
                let mut other = text.clone();
                other.replace_range(place..=place, "b");
                assert!(!is_same(text.clone(), other.clone()), "byte {place} of {length}");
                assert!(!is_same::<Arc<str>>(text.clone().into(), other.into()));
            }
        }
    }

    proptest! {
        #[test]
        fn texts_are_the_same_as_their_labels_say(text in "[ab]{0,20}", other in "[ab]{0,20}") {
            prop_assert_eq!(is_same(text.clone(), other.clone()), text == other);
            prop_assert!(is_same(text.clone(), text));
        }
    }
}
