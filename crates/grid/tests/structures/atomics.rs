//! What happens to a number or a value happens in one order; functions change it, and fail without changing it.

use crate::history::{Call, History, KEYS};
use filbert_grid::{AtomicLong, Code, Function, FunctionError, Grid, GridError, Registry};
use filbert_pool::{Stages, simulate};
use filbert_wire::{Data, FromData, ToData};
use std::sync::Arc;

/// Adds a number; fails or panics when asked to.
struct Plus(i64);

impl Function for Plus {
    fn apply(&self, value: Option<&Data>) -> Result<Option<Data>, FunctionError> {
        let Some(value) = value else { return Ok(None) };
        let number = i64::from_data(value).map_err(|error| FunctionError::OtherType(error.to_string()))?;
        match self.0 {
            -1 => Err("it will not".into()),
            -2 => panic!("it fell over"),
            -3 => Ok(Some(Data::new(-11, &[0, 0, 0, 0]))),
            plus => Ok(Some((number + plus).to_data().map_err(|error| error.to_string())?)),
        }
    }
}

fn registry() -> Registry {
    let plus = |argument: &Data| i64::from_data(argument).map(Plus).map_err(|error| error.to_string());
    Registry::new().with_function("plus", plus)
}

fn plus(number: i64) -> Code {
    Code::named("plus", number.to_data().unwrap())
}

struct Client {
    numbers: [Arc<AtomicLong>; KEYS],
    history: Arc<History>,
    random: Box<dyn FnMut(usize) -> usize + Send>,
}

impl Client {
    async fn run(mut self, calls: usize) {
        for _ in 0..calls {
            let (at, value, other) = ((self.random)(KEYS), (self.random)(4) as u32, (self.random)(4) as u32);
            let number = &self.numbers[at];
            let begin = self.history.tick();
            let small = |number: i64| u32::try_from(number).unwrap();
            let call = match (self.random)(7) {
                0 => Call::Get(Some(small(number.get().await.unwrap()))),
                1 => Call::Add(value, small(number.add_and_get(value.into()).await.unwrap())),
                2 => Call::Add(value, small(number.get_and_add(value.into()).await.unwrap()) + value),
                3 => Call::Put(value, Some(small(number.get_and_set(value.into()).await.unwrap()))),
                4 => {
                    let same = number.compare_and_set(other.into(), value.into()).await.unwrap();
                    Call::ReplaceIfSame(other, value, same)
                }
                5 => Call::Add(value, small(number.alter_and_get(&plus(value.into())).await.unwrap())),
                _ => {
                    Call::Add(value, small(number.get_and_alter(&plus(value.into())).await.unwrap()) + value)
                }
            };
            self.history.add(at, begin, call);
        }
    }
}

fn clients(grid: &Grid, stages: &Stages, seed: u64) -> (Vec<Client>, Arc<History>) {
    let numbers: [Arc<AtomicLong>; KEYS] =
        std::array::from_fn(|at| grid.atomic_long(&format!("n{seed}-{at}")));
    let history = Arc::new(History::default());
    // A number begins with 0.
    (0..KEYS).for_each(|at| history.add(at, history.tick(), Call::Put(0, None)));
    let client = |_| {
        let (history, clock) = (Arc::clone(&history), stages.clock());
        Client { numbers: numbers.clone(), history, random: Box::new(move |bound| clock.random_below(bound)) }
    };
    ((0..4).map(client).collect(), history)
}

#[test]
fn simulated_histories_of_numbers_are_linearizable() {
    simulate::seeds("simulated_histories_of_numbers_are_linearizable", 0..3_000, |seed| {
        let stages = Stages::simulated(seed);
        let grid = Grid::with(&stages, Default::default(), registry());
        let (clients, history) = clients(&grid, &stages, seed);
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
    let grid = Grid::with(&stages, Default::default(), registry());
    for run in 0..200 {
        let (clients, history) = clients(&grid, &stages, run);
        std::thread::scope(|scope| {
            for client in clients {
                scope.spawn(|| stages.mixed().spawn("client", client.run(12)).unwrap().wait().unwrap());
            }
        });
        history.check();
    }
}

#[test]
fn a_function_that_fails_changes_nothing() {
    let stages = Stages::simulated(1);
    let grid = Grid::with(&stages, Default::default(), registry());
    let number = grid.atomic_long("n");
    number.set(40).wait().unwrap();
    assert!(
        matches!(number.alter_and_get(&plus(-1)).wait(), Err(GridError::UserCode { message, .. }) if message == "it will not")
    );
    assert!(
        matches!(number.get_and_alter(&plus(-2)).wait(), Err(GridError::UserCode { message, .. }) if message.contains("fell over"))
    );
    assert!(
        matches!(number.alter_and_get(&plus(-3)).wait(), Err(GridError::OtherType { .. })),
        "text is no long"
    );
    assert!(matches!(
        number.apply(&Code::named("minus", 1_i64.to_data().unwrap())).wait(),
        Err(GridError::NotRegistered { .. })
    ));
    assert_eq!(number.apply(&plus(2)).wait().unwrap(), Some(42_i64.to_data().unwrap()));
    assert_eq!(number.get().wait(), Ok(40));
    number.set(i64::MAX).wait().unwrap();
    assert_eq!(number.add_and_get(1).wait(), Ok(i64::MIN), "it wraps around");
}

#[test]
fn a_reference_is_changed_in_one_step() {
    let stages = Stages::simulated(1);
    let grid = Grid::with(&stages, Default::default(), registry());
    let reference = grid.atomic_reference("r");
    let (one, text) = (1_i64.to_data().unwrap(), Data::new(-11, &[0, 0, 0, 0]));
    assert_eq!(reference.get().wait(), Ok(None));
    assert!(reference.contains(None).wait().unwrap() && !reference.contains(Some(&one)).wait().unwrap());
    assert!(!reference.compare_and_set(Some(&one), None).wait().unwrap());
    assert!(reference.compare_and_set(None, Some(&one)).wait().unwrap());
    assert_eq!(
        reference.alter(&plus(4)).wait().unwrap(),
        (Some(one.clone()), Some(5_i64.to_data().unwrap()))
    );
    assert_eq!(reference.get_and_set(Some(&text)).wait().unwrap(), Some(5_i64.to_data().unwrap()));
    assert!(matches!(reference.alter(&plus(4)).wait(), Err(GridError::OtherType { .. })));
    assert_eq!(reference.get().wait(), Ok(Some(text)));
    assert_eq!(reference.get_and_set(None).wait().map(|old| old.is_some()), Ok(true));
    assert_eq!(reference.apply(&plus(4)).wait(), Ok(None));
}
