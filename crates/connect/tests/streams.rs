//! Readers and writers as the standard streams are used: lines at once, errors with their place.

use filbert_connect::{memory, stdio};
use filbert_flow::DagBuilder;
use filbert_flow::processors::{Collected, collect, map};
use filbert_pool::{Stages, simulate};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};

/// A writer that everyone can look into.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Little at a time, as pipes do.
        let most = bytes.len().min(7);
        self.0.lock().unwrap().extend_from_slice(&bytes[..most]);
        Ok(most)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Fails after some lines.
struct Breaks(bool);

impl Read for Breaks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if std::mem::replace(&mut self.0, true) {
            return Err(io::Error::other("unplugged"));
        }
        buffer[..4].copy_from_slice(b"one\n");
        Ok(4)
    }
}

fn read(stages: &Stages, source: stdio::ReadFrom) -> Result<Vec<String>, String> {
    let mut dag = DagBuilder::new("read");
    let lines = dag.vertex("lines", source);
    let list = Collected::new();
    let sink = dag.vertex("sink", collect(&list));
    dag.local_parallelism(&sink, 1);
    dag.edge(lines.output().to(sink.input()));
    let ended = dag.build().unwrap().submit(stages).unwrap().wait();
    ended.map(|()| list.take()).map_err(|error| error.to_string())
}

#[test]
fn every_item_is_written_as_a_line() {
    simulate::seeds("every_item_is_written_as_a_line", 0..30, |seed| {
        let stages = Stages::simulated(seed);
        let out = Shared::default();
        let opened = out.clone();
        let mut dag = DagBuilder::new("write");
        let numbers = dag.vertex("numbers", memory::range(0..500));
        let texts = dag.vertex("texts", map(|n: u64| n.to_string()));
        let sink = dag.vertex("sink", stdio::write_to(move || Ok(Box::new(opened.clone()))));
        dag.edge(numbers.output().to(texts.input()).queue_size(3));
        dag.edge(texts.output().to(sink.input()).queue_size(2));
        dag.build().unwrap().submit(&stages).unwrap().wait().unwrap();
        let text = String::from_utf8(out.0.lock().unwrap().clone()).unwrap();
        let mut numbers: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..500).collect::<Vec<_>>());
    });
}

#[test]
fn lines_come_in_order_and_what_is_wrong_has_its_place() {
    let stages = Stages::simulated(1);
    let text = |text: &'static [u8]| stdio::read_from("a text", move || Ok(Box::new(text)));
    assert_eq!(read(&stages, text(b"one\r\n\ntwo")).unwrap(), ["one", "", "two"]);
    assert!(read(&stages, text(b"")).unwrap().is_empty());
    let said = read(&stages, text(b"one\ntw\xFF\n")).unwrap_err();
    assert!(said.contains("a text:2:3") && said.contains("not UTF-8"), "{said}");
    let said = read(&stages, stdio::read_from("a cable", || Ok(Box::new(Breaks(false))))).unwrap_err();
    assert!(said.contains("cannot read a cable: unplugged"), "{said}");
    let said = read(&stages, stdio::read_from("a door", || Err(io::Error::other("locked")))).unwrap_err();
    assert!(said.contains("cannot open a door: locked"), "{said}");
}
