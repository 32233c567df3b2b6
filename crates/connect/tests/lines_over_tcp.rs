//! Lines over TCP: from servers, from peers, to servers; with peers that are slow, hostile or not there.
#![allow(clippy::disallowed_methods, reason = "tests make threads and deadlines of their own")]

use filbert_connect::{channel, memory, tcp};
use filbert_flow::processors::{Collected, collect, map};
use filbert_flow::{DagBuilder, Job};
use filbert_pool::Stages;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// A server that writes `bytes` to the first who connects and closes.
fn server(bytes: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        // Whoever does not want all of it hangs up.
        let _ = listener.accept().unwrap().0.write_all(&bytes);
    });
    address
}

fn read(stages: &Stages, address: SocketAddr) -> (Job, Collected<String>) {
    let mut dag = DagBuilder::new("read");
    let lines = dag.vertex("lines", tcp::lines_from(address));
    let list = Collected::new();
    let sink = dag.vertex("sink", collect(&list));
    dag.local_parallelism(&sink, 1);
    dag.edge(lines.output().to(sink.input()));
    (dag.build().unwrap().submit(stages).unwrap(), list)
}

#[test]
fn lines_of_a_server_are_read_to_the_last_which_has_no_end() {
    let stages = Stages::start().unwrap();
    let lines: Vec<String> = (0..50_000).map(|n| format!("line {n}")).collect();
    let (job, list) = read(&stages, server(lines.join("\r\n").into_bytes()));
    job.wait().unwrap();
    assert_eq!(list.take(), lines);
}

#[test]
fn what_is_wrong_with_a_server_is_said() {
    let stages = Stages::start().unwrap();
    let fails = |address: SocketAddr, words: &[&str]| {
        let said = read(&stages, address).0.wait().unwrap_err().to_string();
        for word in words {
            assert!(said.contains(word), "{said:?} lacks {word:?}");
        }
    };
    fails(server(b"good\nb\xFFd\ngood\n".to_vec()), &["line 2 is not UTF-8", "127.0.0.1"]);
    fails(server(vec![b'x'; 3 << 20]), &["line 1 is longer than"]);
    // Not one that was free a moment ago: by now it may be another test's.
    fails("127.0.0.1:1".parse().unwrap(), &["cannot connect to"]);
}

#[test]
fn a_job_that_takes_nothing_slows_the_server() {
    let stages = Stages::start().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (sink, receiver) = channel::sink::<String>(1);
    let mut dag = DagBuilder::new("slow");
    let lines = dag.vertex("lines", tcp::lines_from(listener.local_addr().unwrap()));
    let sink = dag.vertex("sink", sink);
    dag.edge(lines.output().to(sink.input()).queue_size(1).high_water_mark(1));
    let job = dag.build().unwrap().submit(&stages).unwrap();
    let mut stream = listener.accept().unwrap().0;
    stream.set_nonblocking(true).unwrap();
    let line = [&[b'x'; 999][..], b"\n"].concat();
    let (mut written, mut refused) = (0, 0);
    let deadline = Instant::now() + Duration::from_secs(60);
    while refused < 200 {
        match stream.write(&line[written % 1000..]) {
            Ok(count) => (written, refused) = (written + count, 0),
            Err(_) => refused += 1,
        }
        assert!(written < 64 << 20 && Instant::now() < deadline, "{written} bytes were taken");
        if refused > 0 {
            // sleeps because the other side needs time to take what it can.
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    stream.set_nonblocking(false).unwrap();
    let writes = std::thread::spawn(move || {
        stream.write_all(&line[written % 1000..]).unwrap();
        written / 1000 + 1
    });
    assert!(receiver.recv().is_some());
    let received = 1 + receiver.iter().count();
    assert_eq!(received, writes.join().unwrap());
    job.wait().unwrap();
}

#[test]
fn peers_send_lines_and_hostile_ones_are_sent_away() {
    let stages = Stages::start().unwrap();
    let (sink, receiver) = channel::sink::<String>(16);
    let lines = tcp::lines_of_peers("127.0.0.1:0".parse().unwrap());
    let address = lines.address();
    let mut dag = DagBuilder::new("listen");
    let lines = dag.vertex("lines", lines);
    let sink = dag.vertex("sink", sink);
    dag.edge(lines.output().to(sink.input()));
    let job = dag.build().unwrap().submit(&stages).unwrap();
    let address = address.wait();
    TcpStream::connect(address).unwrap().write_all(b"\xFF\xFF\n").unwrap();
    let peers: Vec<_> = (0..4)
        .map(|peer| {
            std::thread::spawn(move || {
                let mut stream = TcpStream::connect(address).unwrap();
                (0..1_000).for_each(|n| stream.write_all(format!("{peer} {n}\n").as_bytes()).unwrap());
            })
        })
        .collect();
    let mut heard: Vec<String> = receiver.iter().take(4_000).collect();
    peers.into_iter().for_each(|peer| peer.join().unwrap());
    heard.sort();
    let mut expected: Vec<String> =
        (0..4).flat_map(|peer| (0..1_000).map(move |n| format!("{peer} {n}"))).collect();
    expected.sort();
    assert_eq!(heard, expected);
    job.cancel();
    assert!(job.wait().is_err());
    let deadline = Instant::now() + Duration::from_secs(60);
    while TcpStream::connect(address).is_ok() {
        assert!(Instant::now() < deadline, "the door is still open");
        // sleeps because the listening socket closes on its own loop.
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn write(stages: &Stages, address: SocketAddr, count: u64) -> Job {
    let mut dag = DagBuilder::new("write");
    let numbers = dag.vertex("numbers", memory::range(0..count));
    let lines = dag.vertex("lines", map(|n: u64| format!("line {n}")));
    let sink = dag.vertex("sink", tcp::write_lines(address));
    dag.edge(numbers.output().to(lines.input()));
    dag.edge(lines.output().to(sink.input()));
    dag.build().unwrap().submit(stages).unwrap()
}

#[test]
fn lines_are_sent_to_a_slow_server_and_none_is_lost() {
    let stages = Stages::start().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let job = write(&stages, listener.local_addr().unwrap(), 300_000);
    let reader = BufReader::with_capacity(1024, listener.accept().unwrap().0);
    assert_eq!(reader.lines().map(Result::unwrap).count(), 300_000);
    job.wait().unwrap();
}

#[test]
fn a_server_that_hangs_up_fails_the_job() {
    let stages = Stages::start().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let job = write(&stages, listener.local_addr().unwrap(), u64::MAX);
    drop(listener.accept().unwrap());
    let said = job.wait().unwrap_err().to_string();
    assert!(said.contains("not all was sent") || said.contains("closed"), "{said}");
}
