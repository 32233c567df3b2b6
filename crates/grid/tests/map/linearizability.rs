//! Concurrent operations on one key look as if they happened one after the other, each at one moment between its call and its answer.

use crate::dice::Dice;
use crate::history::{Call, History, KEYS};
use crate::processors::registry;
use crate::{int, number, settings};
use filbert_grid::map::operations::{Everything, ExecuteOnEntries};
use filbert_grid::{Code, Grid, Map, MapSettings};
use filbert_pool::{Stages, simulate};
use filbert_wire::{Data, PartitionId};
use std::sync::Arc;

/// One of several that use the same three keys, all of one partition, so that they meet.
struct Client {
    map: Map,
    keys: [Data; KEYS],
    history: Arc<History>,
    dice: Dice,
}

impl Client {
    async fn run(mut self, calls: usize) {
        for _ in 0..calls {
            self.step().await;
        }
    }

    async fn step(&mut self) {
        let key = self.dice.below(KEYS as u32) as usize;
        let (value, other) = (self.dice.below(5), self.dice.below(5));
        let (map, data) = (&self.map, self.keys[key].clone());
        let begin = self.history.tick();
        let known = |data: Option<Data>| data.as_ref().map(number);
        let call = match self.dice.below(12) {
            0 | 1 => Call::Get(known(map.get(data).await.unwrap())),
            2 | 3 => Call::Put(value, known(map.put(data, int(value)).await.unwrap())),
            4 => {
                let there = map.put_if_absent(data, int(value), Default::default()).await.unwrap();
                Call::PutIfAbsent(value, known(there))
            }
            5 => Call::Remove(known(map.remove(data).await.unwrap())),
            6 => {
                let same = map.replace_if_same(data, int(other), int(value)).await.unwrap();
                Call::ReplaceIfSame(other, value, same)
            }
            7 | 8 => {
                let name = if value < 2 { "add far away" } else { "add" };
                let sum = map.execute_on_key(data, Code::named(name, int(other))).await.unwrap();
                Call::Add(other, known(sum).unwrap())
            }
            9 => {
                // On the one partition that all keys are in; the others would only take time.
                let all = ExecuteOnEntries::new(Everything, Code::named("add", int(other)));
                let given = map.strands().call(data.partition(), all).await.unwrap();
                for (index, key) in self.keys.iter().enumerate() {
                    let sum = given.iter().find(|(given, _)| given == key).map(|(_, sum)| number(sum));
                    self.history.add(index, begin, Call::AddIfThere(other, sum));
                }
                return;
            }
            _ => {
                map.lock(data.clone(), None).await.unwrap();
                let inside = self.history.tick();
                let read = known(map.get(data.clone()).await.unwrap());
                let again = known(map.get(data.clone()).await.unwrap());
                self.history.add(key, inside, Call::Get(read));
                self.history.add(key, inside, Call::Get(again));
                map.unlock(data).await.unwrap();
                return;
            }
        };
        self.history.add(key, begin, call);
    }
}

/// Clients of one map, and what they did.
fn clients(grid: &Grid, seed: u64, count: u64) -> (Vec<Client>, Arc<History>) {
    let partition = PartitionId::new(100).unwrap();
    let mut keys = (0..).map(int).filter(|key| key.partition() == partition);
    let keys: [Data; KEYS] = std::array::from_fn(|_| keys.next().unwrap());
    let history = Arc::new(History::default());
    let client = |number| Client {
        map: grid.map("m"),
        keys: keys.clone(),
        history: Arc::clone(&history),
        dice: Dice::new(seed.wrapping_mul(1_000) + number),
    };
    ((0..count).map(client).collect(), history)
}

#[test]
fn simulated_histories_are_linearizable() {
    simulate::seeds("simulated_histories_are_linearizable", 0..10_000, |seed| {
        let stages = Stages::simulated(seed);
        let grid = Grid::with(&stages, settings(MapSettings::default()), registry());
        let (clients, history) = clients(&grid, seed, 4);
        let running: Vec<_> = clients
            .into_iter()
            .map(|client| stages.mixed().spawn("client", client.run(8)).unwrap())
            .collect();
        running.into_iter().for_each(|client| client.wait().unwrap());
        history.check();
    });
}

#[test]
fn histories_of_threads_are_linearizable() {
    let stages = Stages::start().unwrap();
    for run in 0..200 {
        let grid = Grid::with(&stages, settings(MapSettings::default()), registry());
        let (clients, history) = clients(&grid, run, 4);
        std::thread::scope(|scope| {
            for client in clients {
                scope.spawn(|| stages.mixed().spawn("client", client.run(12)).unwrap().wait().unwrap());
            }
        });
        history.check();
    }
}
