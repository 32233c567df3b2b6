//! The keys of `filbert top`, out of the bytes that a terminal sends for them.

/// A key that does something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Quit,
    Up,
    Down,
    PageUp,
    PageDown,
    First,
    Last,
    Next,
    Previous,
    Sort,
    Idle,
    Pause,
    Help,
}

/// Reads keys out of bytes, which may end in the middle of one.
#[derive(Debug, Default)]
pub(super) struct Keys {
    /// The begin of a sequence whose end has not come.
    begun: Vec<u8>,
}

const ESCAPE: u8 = 0x1b;
/// Sequences are shorter; what is longer is none.
const LONGEST: usize = 16;

impl Keys {
    /// Reads the keys in these bytes, and keeps what is no whole key for the next call.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        let mut keys = Vec::new();
        for byte in bytes {
            self.begun.push(*byte);
            let key = match self.begun.as_slice() {
                [ESCAPE] | [ESCAPE, b'[' | b'O'] => continue,
                // A sequence ends with a letter or a tilde; figures and semicolons stand before it.
                [ESCAPE, b'[' | b'O', .., b'0'..=b'9' | b';'] if self.begun.len() < LONGEST => continue,
                [ESCAPE, b'[' | b'O', sequence @ ..] => of_sequence(sequence),
                // The escape key alone, and then another one.
                [ESCAPE, letter] | [letter] => of_letter(*letter),
                _ => None,
            };
            self.begun.clear();
            keys.extend(key);
        }
        keys
    }
}

fn of_letter(letter: u8) -> Option<Key> {
    Some(match letter {
        // Ctrl-C and Ctrl-D as well.
        b'q' | b'Q' | 0x03 | 0x04 => Key::Quit,
        b'\t' => Key::Next,
        b's' => Key::Sort,
        b'i' => Key::Idle,
        b' ' => Key::Pause,
        b'?' | b'h' => Key::Help,
        b'k' => Key::Up,
        b'j' => Key::Down,
        _ => return None,
    })
}

fn of_sequence(sequence: &[u8]) -> Option<Key> {
    Some(match sequence {
        b"A" => Key::Up,
        b"B" => Key::Down,
        b"5~" => Key::PageUp,
        b"6~" => Key::PageDown,
        b"H" | b"1~" | b"7~" => Key::First,
        b"F" | b"4~" | b"8~" => Key::Last,
        b"Z" => Key::Previous,
        b"C" => Key::Next,
        b"D" => Key::Previous,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_also_in_pieces() {
        let mut keys = Keys::default();
        assert_eq!(keys.read(b"si \t?"), [Key::Sort, Key::Idle, Key::Pause, Key::Next, Key::Help]);
        assert_eq!(
            keys.read(b"\x1b[A\x1bOB\x1b[5~\x1b[6~\x1b[Z"),
            [Key::Up, Key::Down, Key::PageUp, Key::PageDown, Key::Previous]
        );
        assert_eq!(keys.read(b"\x1b"), []);
        assert_eq!(keys.read(b"[6"), []);
        assert_eq!(keys.read(b"~q"), [Key::PageDown, Key::Quit]);
        assert_eq!(keys.read(b"\x03"), [Key::Quit]);
    }

    #[test]
    fn what_is_no_key_is_left_out_and_nothing_piles_up() {
        let mut keys = Keys::default();
        assert_eq!(keys.read("xyzü\x1b[24~\x1b[1;5Cs".as_bytes()), [Key::Sort]);
        assert_eq!(keys.read(b"\x1bq"), [Key::Quit], "the escape key, then q");
        assert_eq!(keys.read(format!("\x1b[{}", "1".repeat(100)).as_bytes()), []);
        assert!(keys.begun.len() < LONGEST);
    }
}
