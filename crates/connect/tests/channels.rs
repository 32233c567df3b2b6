//! Channels between the program and a job: back-pressure both ways, ends seen on both sides, nobody polls.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_connect::channel::{self, NotSent};
use filbert_connect::memory;
use filbert_flow::processors::{Collected, collect, map};
use filbert_flow::{DagBuilder, Job};
use filbert_pool::{Stages, simulate};
use std::time::{Duration, Instant};

/// What is sent, times two, is received.
fn doubling(stages: &Stages, capacity: usize) -> (channel::Sender<u64>, channel::Receiver<u64>, Job) {
    let (sender, source) = channel::source(capacity);
    let (sink, receiver) = channel::sink(capacity);
    let mut dag = DagBuilder::new("doubling");
    let source = dag.vertex("source", source);
    let double = dag.vertex("double", map(|n: u64| n * 2));
    let sink = dag.vertex("sink", sink);
    dag.edge(source.output().to(double.input()).queue_size(1).high_water_mark(1));
    dag.edge(double.output().to(sink.input()).queue_size(1).high_water_mark(1));
    let job = dag.build().unwrap().submit(stages).unwrap();
    (sender, receiver, job)
}

#[test]
fn many_threads_send_and_one_receives() {
    let stages = Stages::start().unwrap();
    let (sender, receiver, job) = doubling(&stages, 3);
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let sender = sender.clone();
            std::thread::spawn(move || (0..5_000).for_each(|n| sender.send(thread * 5_000 + n).unwrap()))
        })
        .collect();
    drop(sender);
    let mut received: Vec<u64> = receiver.iter().collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    job.wait().unwrap();
    received.sort_unstable();
    assert_eq!(received, (0..20_000).map(|n| n * 2).collect::<Vec<_>>());
}

#[test]
fn a_receiver_that_takes_nothing_stops_the_sender() {
    let stages = Stages::start().unwrap();
    let (sender, receiver, job) = doubling(&stages, 4);
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut sent = 0;
    let mut refused = 0;
    // Full for a good while: then it is full for good.
    while refused < 200 {
        match sender.try_send(sent) {
            Ok(()) => (sent, refused) = (sent + 1, 0),
            Err(NotSent::Full(_)) => refused += 1,
            Err(other) => panic!("{other}"),
        }
        assert!(sent < 1_000 && Instant::now() < deadline, "there is no back-pressure: {sent} were taken");
        // sleeps because the job needs time to take what it can.
        std::thread::sleep(Duration::from_micros(100));
    }
    sender.close();
    assert_eq!(receiver.iter().count() as u64, sent);
    job.wait().unwrap();
}

#[test]
fn the_end_of_a_job_is_seen_by_who_sends_and_who_receives() {
    let stages = Stages::start().unwrap();
    let (sender, receiver, job) = doubling(&stages, 4);
    job.cancel();
    assert!(job.wait().is_err());
    assert!(receiver.recv().is_none());
    assert!(matches!(sender.send(1), Err(NotSent::Ended(1))));
    assert!(sender.is_ended() && receiver.is_ended());
}

#[test]
fn a_sender_that_waits_learns_that_the_job_is_over() {
    let stages = Stages::start().unwrap();
    let (sender, receiver, job) = doubling(&stages, 1);
    let sends = std::thread::spawn(move || (0..).find_map(|n| sender.send(n).err()));
    while receiver.is_empty() {
        std::thread::yield_now();
    }
    job.cancel();
    assert!(matches!(sends.join().unwrap(), Some(NotSent::Ended(_))));
}

#[test]
fn a_receiver_that_is_gone_ends_an_endless_job() {
    let stages = Stages::start().unwrap();
    let (sink, receiver) = channel::sink::<u64>(8);
    let mut dag = DagBuilder::new("endless");
    let numbers = dag.vertex("numbers", memory::range(0..u64::MAX));
    let sink = dag.vertex("sink", sink);
    dag.edge(numbers.output().to(sink.input()));
    let dag = dag.build().unwrap();
    let job = dag.submit(&stages).unwrap();
    assert!(receiver.recv().is_some());
    drop(receiver);
    job.wait().unwrap();
    let again = dag.submit(&stages).unwrap().wait().unwrap_err().to_string();
    assert!(again.contains("make a new channel"), "{again}");
}

#[test]
fn a_channel_whose_sender_is_gone_before_the_job_starts_is_empty() {
    let stages = Stages::start().unwrap();
    let (sender, source) = channel::source(4);
    sender.send(7).unwrap();
    drop(sender);
    let mut dag = DagBuilder::new("late");
    let source = dag.vertex("source", source);
    let list = Collected::new();
    let sink = dag.vertex("sink", collect(&list));
    dag.edge(source.output().to(sink.input()));
    dag.build().unwrap().submit(&stages).unwrap().wait().unwrap();
    assert_eq!(list.take(), [7]);
}

#[test]
fn futures_send_and_receive_in_every_order() {
    simulate::seeds("futures_send_and_receive_in_every_order", 0..200, |seed| {
        let stages = Stages::simulated(seed);
        let (sender, receiver, job) = doubling(&stages, 1 + (seed % 3) as usize);
        let sends = stages.mixed().spawn("send", async move {
            for n in 0..50 {
                sender.send_async(n).await.unwrap();
            }
        });
        let receives = stages.mixed().spawn("receive", async move {
            let mut sum = 0;
            while let Some(n) = receiver.recv_async().await {
                sum += n;
            }
            sum
        });
        job.wait().unwrap();
        sends.unwrap().wait().unwrap();
        assert_eq!(receives.unwrap().wait().unwrap(), 49 * 50);
    });
}
