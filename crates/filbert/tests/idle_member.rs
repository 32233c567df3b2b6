//! An idle member does nothing: no task runs, no thread wakes up. All doors are open, with a connection each; maps have entries that expire in an
//! hour; a job and a query wait for what does not come. A poll anywhere, however cheap, makes this red. Alone in its file: it reads what all
//! threads of the process do.
#![allow(clippy::disallowed_methods, reason = "time itself is the subject")]

use filbert::connect::channel;
use filbert::flow::DagBuilder;
use filbert::flow::processors::for_each;
use filbert::{HazelcastSettings, HttpSettings, Member, PostgresSettings};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// How long nothing must have happened. What looks around less often than that is not found.
const SILENCE: Duration = Duration::from_secs(4);

/// By when the member must have come to rest: connections are accepted, caches filled, threads gone to sleep.
const DEADLINE: Duration = Duration::from_secs(90);

const SETTINGS: &str = r#"
[map."idle-*"]
ttl_seconds = 3600

[map."idle-1*"]
ttl_seconds = 0
max_idle_seconds = 7200

[map.j.journal]
capacity = 1000
"#;

/// What each stage has run, how often its workers went to sleep, and how often each thread did: a thread that waits and is woken, whatever for,
/// waits again.
fn activity(member: &Member) -> BTreeMap<String, u64> {
    let mut seen = BTreeMap::new();
    for stage in member.stages().snapshot() {
        seen.insert(format!("stage {} executed", stage.stage), stage.executed);
        seen.insert(format!("stage {} parked", stage.stage), stage.parked);
    }
    let own = std::fs::read_link("/proc/thread-self").ok();
    let own = own.and_then(|link| Some(link.file_name()?.to_os_string()));
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let Ok(status) = std::fs::read_to_string(task.path().join("status")) else { continue };
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
        let woken = field("voluntary_ctxt_switches:").and_then(|number| number.parse().ok());
        if let (Some(name), Some(woken)) = (field("Name:"), woken)
            && own.as_ref() != Some(&task.file_name())
        {
            seen.insert(format!("thread {name} {}", task.file_name().display()), woken);
        }
    }
    seen
}

/// A session that has logged in and says nothing.
fn postgres_session(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(DEADLINE)).unwrap();
    let words = b"user\0ann\0database\0filbert\0\0";
    let mut startup = ((words.len() + 8) as i32).to_be_bytes().to_vec();
    startup.extend(196_608_i32.to_be_bytes());
    startup.extend(words);
    stream.write_all(&startup).unwrap();
    loop {
        let mut head = [0; 5];
        stream.read_exact(&mut head).unwrap();
        let length = i32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        let mut body = vec![0; length - 4];
        stream.read_exact(&mut body).unwrap();
        if head[0] == b'Z' {
            return stream;
        }
        assert_ne!(head[0], b'E', "{}", String::from_utf8_lossy(&body));
    }
}

#[test]
fn an_idle_member_does_nothing() {
    let address = "127.0.0.1:0".parse().unwrap();
    let member = Member::builder()
        .toml(SETTINGS)
        .executor("reports")
        .hazelcast(HazelcastSettings { address, ..HazelcastSettings::default() })
        .postgres(PostgresSettings { address, ..PostgresSettings::default() })
        .http(HttpSettings { address, ..HttpSettings::default() })
        .start()
        .unwrap();
    for number in 0..30 {
        let map = member.map::<i64, i64>(&format!("idle-{number}"));
        (0..600).for_each(|key| map.set(&key, &key).wait().unwrap());
    }
    // Each of the other stages has worked, so that its threads are there and sleep the way they do.
    let _: u64 = member.stages().cpu().range(0..1_000_000).map(|i| i as u64).sum();
    member.stages().executor("reports").unwrap().submit("once", || ()).unwrap().wait().unwrap();
    member.stages().generic().submit("once", || ()).unwrap().wait().unwrap();

    let (sender, source) = channel::source(10);
    let mut dag = DagBuilder::new("idle");
    let source = dag.vertex("source", source);
    let sink = dag.vertex("sink", for_each(|_: u64| {}));
    dag.edge(source.output().to(sink.input()));
    let job = member.submit(&dag.build().unwrap()).unwrap();
    sender.send(1).unwrap();

    let session = postgres_session(member.postgres_address().unwrap());
    member.map::<i64, i64>("j").set(&1, &1).wait().unwrap();
    let mut stream =
        member.sql().session().query("SELECT this FROM TABLE(journal('j')) WHERE this > 0").unwrap();
    futures::executor::block_on(stream.schema()).unwrap();

    let (begin, mut before) = (Instant::now(), activity(&member));
    loop {
        // sleeps because silence is what is looked for
        std::thread::sleep(SILENCE);
        let after = activity(&member);
        if after == before {
            break;
        }
        let busy: Vec<_> = after
            .iter()
            .filter(|(what, count)| before.get(*what) != Some(*count))
            .map(|(what, count)| format!("{what}: {:?} to {count}", before.get(what)))
            .collect();
        assert!(begin.elapsed() < DEADLINE, "an idle member is busy:\n{}", busy.join("\n"));
        before = after;
    }
    drop((session, stream, sender));
    job.cancel();
}
