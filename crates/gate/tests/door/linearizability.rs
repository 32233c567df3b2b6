//! Operations on one key from several connections look as if they happened one after the other. The checker is that of the tests of maps.
//!
//! `FILBERT_HISTORIES` says how many histories are made.

use crate::history::{Call, History, KEYS};
use crate::line::{Client, Member, int};
use filbert_wire::Data;
use filbert_wire::messages::map as m;

const CLIENTS: u64 = 4;
const CALLS: usize = 20;

fn number(data: &Data) -> u32 {
    u32::from_be_bytes(data.payload().try_into().unwrap())
}

fn known(data: Option<Data>) -> Option<u32> {
    data.as_ref().map(number)
}

fn value(number: u32) -> Data {
    int(number as i32)
}

/// One client with one call at a time, all on the same keys.
struct Caller<'h> {
    client: Client,
    name: String,
    keys: &'h [Data; KEYS],
    history: &'h History,
    random: u64,
}

impl Caller<'_> {
    fn below(&mut self, bound: u64) -> u32 {
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.random >> 33) % bound) as u32
    }

    fn step(&mut self) {
        let index = self.below(KEYS as u64) as usize;
        let (new, other, choice) = (self.below(5), self.below(5), self.below(9));
        let (client, key, name) = (&mut self.client, self.keys[index].clone(), self.name.as_str().into());
        let (thread_id, ttl_ms) = (1, -1);
        let begin = self.history.tick();
        let call = match choice {
            0 | 1 => Call::Get(known(client.call(&m::Get { name, key, thread_id }).unwrap().value)),
            2 | 3 => {
                let put = m::Put { name, key, value: value(new), thread_id, ttl_ms };
                Call::Put(new, known(client.call(&put).unwrap().value))
            }
            4 => {
                let put = m::PutIfAbsent { name, key, value: value(new), thread_id, ttl_ms };
                Call::PutIfAbsent(new, known(client.call(&put).unwrap().value))
            }
            5 => Call::Remove(known(client.call(&m::Remove { name, key, thread_id }).unwrap().value)),
            6 | 7 => {
                let replace =
                    m::ReplaceIfSame { name, key, test_value: value(other), value: value(new), thread_id };
                Call::ReplaceIfSame(other, new, client.call(&replace).unwrap().value)
            }
            _ => {
                // Others have to wait for it: what is read inside does not change.
                let (ttl_ms, map) = (-1, self.name.as_str());
                let lock = m::Lock { name, key: key.clone(), thread_id, ttl_ms, reference_id: 1 };
                client.call(&lock).unwrap();
                for _ in 0..2 {
                    let inside = self.history.tick();
                    let get = m::Get { name: map.into(), key: key.clone(), thread_id };
                    let read = known(client.call(&get).unwrap().value);
                    self.history.add(index, inside, Call::Get(read));
                }
                let unlock = m::Unlock { name: map.into(), key, thread_id, reference_id: 2 };
                client.call(&unlock).unwrap();
                return;
            }
        };
        self.history.add(index, begin, call);
    }
}

#[test]
fn histories_of_connections_are_linearizable() {
    let runs = std::env::var("FILBERT_HISTORIES").map_or(20, |runs| runs.parse::<u64>().unwrap());
    let member = Member::start();
    let partition = int(0).partition();
    let mut keys = (0..).map(int).filter(|key| key.partition() == partition);
    let keys: [Data; KEYS] = std::array::from_fn(|_| keys.next().unwrap());
    for run in 0..runs {
        let history = History::default();
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (random, name) = (run * CLIENTS + client, format!("run {run}"));
                let mut caller =
                    Caller { client: member.client(), name, keys: &keys, history: &history, random };
                scope.spawn(move || (0..CALLS).for_each(|_| caller.step()));
            }
        });
        history.check();
        member.grid.structures().destroy(filbert_grid::Service::Map, &format!("run {run}"));
    }
    println!("{runs} histories of {CLIENTS} connections");
}
