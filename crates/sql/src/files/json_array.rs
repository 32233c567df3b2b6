//! A JSON array as lines, one element on each, so that one reader does for both.
//!
//! The bytes pass once through a machine of a few states, and nothing is kept of them. What begins with anything but `[` stays as it is, and
//! what is no JSON is left for the reader to refuse.

/// Turns the bytes of a JSON file into lines.
#[derive(Debug, Default)]
pub(super) struct ArrayLines {
    state: State,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Nothing but blanks so far.
    #[default]
    Begin,
    /// No array: the rest stays as it is.
    Lines,
    /// In the array, that many brackets deep within an element.
    Array { depth: usize },
    /// In a text of an element.
    Text { depth: usize, is_escaped: bool },
    /// Behind the array.
    End,
}

/// True for a file that begins as an array.
pub(super) fn is_array(begin: &[u8]) -> bool {
    begin.trim_ascii_start().first() == Some(&b'[')
}

impl ArrayLines {
    /// Changes the next bytes in place.
    pub(super) fn pass(&mut self, bytes: &mut [u8]) {
        if self.state == State::Lines {
            return;
        }
        for byte in bytes {
            self.state = self.step(byte);
            if self.state == State::Lines {
                return;
            }
        }
    }

    fn step(&self, byte: &mut u8) -> State {
        match (self.state, *byte) {
            (State::Begin, b'[') => {
                *byte = b' ';
                State::Array { depth: 0 }
            }
            (State::Begin, letter) if letter.is_ascii_whitespace() => State::Begin,
            (State::Begin | State::Lines, _) => State::Lines,
            (State::Array { depth }, b'"') => State::Text { depth, is_escaped: false },
            (State::Array { depth }, b'{' | b'[') => State::Array { depth: depth + 1 },
            (State::Array { depth: 0 }, b']') => {
                *byte = b'\n';
                State::End
            }
            (State::Array { depth }, b'}' | b']') => State::Array { depth: depth.saturating_sub(1) },
            (State::Array { depth: 0 }, b',') => {
                *byte = b'\n';
                State::Array { depth: 0 }
            }
            (state @ State::Array { .. }, b'\n' | b'\r') => {
                *byte = b' ';
                state
            }
            (State::Text { depth, is_escaped: false }, b'"') => State::Array { depth },
            (State::Text { depth, is_escaped }, letter) => {
                State::Text { depth, is_escaped: !is_escaped && letter == b'\\' }
            }
            (state, _) => state,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str, piece: usize) -> String {
        let mut array = ArrayLines::default();
        let mut bytes = text.as_bytes().to_vec();
        bytes.chunks_mut(piece).for_each(|piece| array.pass(piece));
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn an_array_is_lines_however_its_bytes_come() {
        let text =
            "\n [\n  {\"a\": [1, 2],\n   \"b\": \"x, \\\"y]\\n\"},\n  {\"a\": [], \"b\": {\"c\": 1}}\n]\n";
        for piece in [1, 2, 7, 1_000] {
            let lines = lines(text, piece);
            let values: Vec<serde_json::Value> = lines
                .lines()
                .filter(|line| !line.trim().is_empty())
                .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}")))
                .collect();
            assert_eq!(
                serde_json::Value::from(values),
                serde_json::from_str::<serde_json::Value>(text).unwrap()
            );
        }
    }

    #[test]
    fn lines_stay_as_they_are() {
        for text in ["{\"a\": 1}\n{\"a\": [1,\n2]}\n", "", " \n", "1,2"] {
            assert_eq!(lines(text, 3), text);
        }
        assert!(is_array(b" \n[1") && !is_array(b"{\"a\": []}") && !is_array(b""));
        assert_eq!(lines("[1] nonsense", 2), " 1\n nonsense", "left for the reader to refuse");
    }
}
