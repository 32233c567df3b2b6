//! Answers: in which order they come, in how many writes, and from which threads.

use crate::line::{Client, Seen, eventually, open};
use filbert_net::NetSettings;
use std::sync::atomic::Ordering;

#[test]
fn answers_come_in_the_order_of_the_questions() {
    let (_stages, door, _seen) = open(NetSettings::default(), Seen::default());
    let mut client = Client::connect(&door);
    let questions: String = (0..10_000).map(|number| format!("echo {number}\n")).collect();
    client.send(&questions);
    for number in 0..10_000 {
        assert_eq!(client.line(), number.to_string());
    }
}

#[test]
fn a_question_in_pieces_is_answered_when_it_is_whole() {
    let (_stages, door, seen) = open(NetSettings::default(), Seen::default());
    let mut client = Client::connect(&door);
    for piece in ["ec", "ho on", "e\necho two\nec", "ho three\n"] {
        let before = door.stats().bytes_in;
        client.send(piece);
        eventually("it arrived", || door.stats().bytes_in == before + piece.len() as u64);
    }
    assert_eq!([client.line(), client.line(), client.line()], ["one", "two", "three"]);
    let long = "y".repeat(300_000);
    client.send(&format!("echo {long}\n"));
    assert_eq!(client.line(), long);
    assert_eq!(seen.handled.load(Ordering::SeqCst), 4);
}

#[test]
fn many_small_answers_are_few_writes() {
    let (_stages, door, _seen) = open(NetSettings::default(), Seen::default());
    let mut client = Client::connect(&door);
    client.send(&"echo x\n".repeat(5_000));
    for _ in 0..5_000 {
        assert_eq!(client.line(), "x");
    }
    eventually("all is counted", || door.stats().bytes_out == 10_000);
    let stats = door.stats();
    assert_eq!(stats.bytes_in, 35_000);
    // The questions are one write of 35 kB; the system may hand it over in parts.
    assert!(stats.writes <= stats.reads, "{stats:?}");
    assert!(stats.writes <= 50, "{stats:?}");
}

#[test]
fn other_threads_send_any_time_and_each_in_its_order() {
    let (_stages, door, seen) = open(NetSettings::default(), Seen::default());
    let mut client = Client::connect(&door);
    client.send("echo ready\n");
    assert_eq!(client.line(), "ready");
    let outlet = seen.outlets.lock().unwrap()[0].clone();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let outlet = outlet.clone();
            scope.spawn(move || {
                for number in 0..2_000 {
                    outlet.send(format!("{thread} {number}\n")).unwrap();
                }
            });
        }
        let mut next = [0; 4];
        for _ in 0..8_000 {
            let line = client.line();
            let (thread, number) = line.split_once(' ').unwrap();
            let thread: usize = thread.parse().unwrap();
            assert_eq!(number, next[thread].to_string());
            next[thread] += 1;
        }
    });
    let stats = door.stats();
    assert!(stats.writes < 8_000, "a batch of sends is one write: {stats:?}");
}

#[test]
fn answers_that_come_later_all_come() {
    let (_stages, door, _seen) = open(NetSettings::default(), Seen::default());
    let mut client = Client::connect(&door);
    let questions: String = (0..5_000).map(|number| format!("later {number}\n")).collect();
    client.send(&questions);
    let mut answers: Vec<u32> = (0..5_000).map(|_| client.line().parse().unwrap()).collect();
    answers.sort_unstable();
    assert!(answers.into_iter().eq(0..5_000));
    eventually("nothing is owed", || door.connections()[0].owed == 0);
}

#[test]
fn what_is_written_comes_before_what_is_sent_meanwhile_and_in_one_write() {
    let (_stages, door, _seen) = open(NetSettings::default(), Seen::default());
    let mut client = Client::connect(&door);
    client.send("inside\n");
    assert_eq!([client.line(), client.line(), client.line()], ["first", "second", "third"]);
    let all = "first\nsecond\nthird\n".len() as u64;
    // Bytes are counted a moment before the write that took them.
    eventually("it is counted", || door.stats().bytes_out == all && door.stats().writes > 0);
    assert_eq!(door.stats().writes, 1);
}
