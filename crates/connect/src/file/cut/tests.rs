use super::*;
use crate::file::plan::{Whole, splits};
use filbert_flow::Share;
use proptest::prelude::*;
use std::io::Cursor;
use std::path::PathBuf;

/// Reads little at a time, as pipes and networks do.
struct Hesitant<R>(R, usize);

impl<R: Read> Read for Hesitant<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(self.1);
        self.0.read(&mut buffer[..most])
    }
}

fn origin() -> Arc<Origin> {
    Arc::new(Origin { path: PathBuf::from("text"), index: 0 })
}

/// All lines of a text that is read by so many processors, in the order of the processors.
fn read_by(text: &[u8], processors: usize, block: usize, step: usize) -> Vec<Vec<u8>> {
    let whole = Whole { origin: origin(), length: Some(text.len() as u64) };
    let mut lines = Vec::new();
    for index in 0..processors {
        for split in
            splits(std::slice::from_ref(&whole), Share { index, count: processors, ..Share::WHOLE }, true)
        {
            let start = LineCutter::<Cursor<&[u8]>>::start(&split) as usize;
            let input = Hesitant(Cursor::new(&text[start..]), step);
            let mut cutter = LineCutter::new(input, split, block, 1 << 20);
            while let Some(block) = cutter.next_block().unwrap() {
                assert_eq!(&text[block.offset as usize..][..block.bytes.len()], &block.bytes[..]);
                lines.extend(block.lines().map(<[u8]>::to_vec));
            }
        }
    }
    lines
}

/// The lines as everybody understands them.
fn oracle(text: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    let ended = text.iter().filter(|byte| **byte == b'\n').count();
    let strip = |(index, line): (usize, &[u8])| {
        // A lone return at the end of the file ends no line.
        let line = if index < ended { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
        line.to_vec()
    };
    lines.into_iter().enumerate().map(strip).collect()
}

fn texts() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        4 => Just(b"\n".to_vec()),
        2 => Just(b"\r\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        4 => proptest::collection::vec(b'a'..=b'z', 0..6),
        1 => proptest::collection::vec(b'a'..=b'z', 0..80),
    ];
    proptest::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn every_line_is_read_exactly_once(
        text in texts(), processors in 1_usize..12, block in 1_usize..40, step in 1_usize..20,
    ) {
        prop_assert_eq!(read_by(&text, processors, block, step), oracle(&text));
    }

    #[test]
    fn the_longest_line_that_is_allowed_is_read_and_no_longer_one(
        before in texts(), length in 1_usize..60, limit in 1_usize..60, block in 1_usize..80, ended in any::<bool>(),
    ) {
        let mut text: Vec<u8> = before.into_iter().filter(|byte| *byte == b'\n').collect();
        text.extend(std::iter::repeat_n(b'x', length));
        if ended {
            text.push(b'\n');
        }
        // A stream, because the line's number is counted there without a file.
        let mut cutter = LineCutter::new(Cursor::new(&text), Split::stream(origin()), block, limit);
        let read = std::iter::from_fn(|| cutter.next_block().transpose()).collect::<Result<Vec<_>, _>>();
        match read {
            Ok(_) => prop_assert!(length <= limit),
            Err(FileError::LineTooLong { line, .. }) => {
                prop_assert!(length > limit);
                prop_assert_eq!(line as usize, text.iter().filter(|byte| **byte == b'\n').count() + usize::from(!ended));
            }
            Err(other) => return Err(TestCaseError::fail(other.to_string())),
        }
    }
}

#[test]
fn a_mark_of_the_byte_order_is_no_text() {
    let text = b"\xEF\xBB\xBFone\ntwo";
    for processors in 1..15 {
        let whole = Whole { origin: origin(), length: Some(text.len() as u64) };
        let mut lines = Vec::new();
        for index in 0..processors {
            for split in
                splits(std::slice::from_ref(&whole), Share { index, count: processors, ..Share::WHOLE }, true)
            {
                let start = LineCutter::<Cursor<&[u8]>>::start(&split) as usize;
                let mut cutter = LineCutter::new(Cursor::new(&text[start..]), split, 7, 100);
                while let Some(block) = cutter.next_block().unwrap() {
                    lines.extend(block.lines().map(<[u8]>::to_vec));
                }
            }
        }
        assert_eq!(lines, [b"one", b"two"], "{processors} processors");
    }
}
