//! Asking the cubes of a composite, all at the same time. Nothing is left running: whatever happens, all of them are waited for.

use super::Ask;
use crate::cuboid::Cuboid;
use crate::error::CubeError;
use crate::execute::{Results, Run, StepTrace, SubTrace, Trace};
use crate::lead::Question;
use crate::memory::{MemoryAccount, Reservation, bytes_of};
use crate::result::CubeResult;
use futures::future::{Either, join_all, select};
use std::pin::pin;

/// What a cube answered. It counts from the moment it is there: the others may still be at work, in the same account.
pub(crate) struct Answer {
    result: CubeResult,
    _held: Reservation,
}

impl Answer {
    fn new(result: CubeResult, memory: &MemoryAccount) -> Result<Self, CubeError> {
        let held = memory.try_reserve(result.batch.columns().iter().map(bytes_of).sum())?;
        Ok(Self { result, _held: held })
    }
}

/// The answers of all cubes, in the order of what they were asked; none where there was nothing to ask for.
pub(crate) async fn ask_cubes(question: &Question, asks: &[Ask]) -> Result<Vec<Option<Answer>>, CubeError> {
    let Some(composite) = question.table.cubes() else { return Ok(Vec::new()) };
    let mut asked = Vec::with_capacity(asks.len());
    for ask in asks {
        asked.push(match ask.is_empty() {
            true => None,
            false => {
                let within = question.within(ask.rights.clone());
                let sub = composite.cube(ask.cube);
                Some(sub.cube.query_within(ask.query(sub, &question.query), &within)?)
            }
        });
    }
    let tokens: Vec<_> = asked.iter().flatten().map(|asked| asked.token()).collect();
    let end_all = |reason: &CubeError| tokens.iter().for_each(|token| token.cancel(reason.clone()));
    let end_all = &end_all;
    let each = asked.into_iter().map(|asked| async move {
        let Some(asked) = asked else { return Ok(None) };
        // The others need not go on when one of them fails.
        let answer = asked.await.and_then(|result| Answer::new(result, &question.memory));
        answer.map(Some).inspect_err(|_| end_all(&CubeError::Cancelled))
    });
    let answers = match select(pin!(join_all(each)), pin!(question.cancel.cancelled())).await {
        Either::Left((answers, _)) => answers,
        Either::Right((reason, waiting)) => {
            end_all(&reason);
            waiting.await;
            return Err(reason);
        }
    };
    // The first that failed, and not those that were ended for it.
    let why = |is_why: fn(&CubeError) -> bool| {
        answers.iter().filter_map(|answer| answer.as_ref().err()).find(|error| is_why(error)).cloned()
    };
    match why(|error| *error != CubeError::Cancelled).or_else(|| why(|_| true)) {
        Some(error) => Err(error),
        None => Ok(answers.into_iter().flatten().collect()),
    }
}

/// Makes cuboids of answers. Waits for `cpu`: on a thread of `mixed` that may.
pub(crate) fn take_answers(
    question: &Question,
    run: &Run,
    asks: &[Ask],
    answers: Vec<Option<Answer>>,
    (results, trace): (&mut Results, &mut Trace),
) -> Result<(), CubeError> {
    let Some(composite) = question.table.cubes() else { return Ok(()) };
    for (ask, answer) in asks.iter().zip(answers) {
        run.cancel.check()?;
        let sub = composite.cube(ask.cube);
        let Some(Answer { result: mut answer, _held }) = answer else {
            for (leaf, _) in &ask.leaves {
                results.put(*leaf, Cuboid::empty(&ask.level, &run.keys, run.partitions, &run.memory));
            }
            continue;
        };
        for (position, (leaf, measure)) in ask.leaves.iter().enumerate() {
            if let Some((_, error)) = answer.failures.iter().find(|(failed, _)| failed == measure) {
                trace.failed(*leaf, error);
                results.put(*leaf, Err(error.clone()));
                continue;
            }
            let begin = run.clock.now();
            let cells = ask.cells(sub, &answer.batch, position)?;
            let cuboid = match cells.num_rows() {
                0 => Cuboid::empty(&ask.level, &run.keys, run.partitions, &run.memory)?,
                _ => run.cuboid_of(measure, &ask.level, std::slice::from_ref(&cells))?,
            };
            let time = run.clock.now().saturating_sub(begin);
            trace.steps.push(StepTrace::of(run, *leaf, &cuboid, time, 1, &run.observed.take()));
            results.put(*leaf, Ok(cuboid));
        }
        trace.batches += 1;
        trace.rows += answer.batch.num_rows();
        if let Some(explanation) = answer.explanation.take() {
            let leaves = ask.leaves.iter().map(|(leaf, _)| *leaf).collect();
            trace.cubes.push(SubTrace { cube: sub.name.clone(), leaves, explanation });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::composite::Composite;
    use crate::cube::{Cube, Within};
    use crate::error::CubeError;
    use crate::forest::{Aggregator, Combinator, Forest};
    use crate::memory::{MemoryAccount, bytes_of};
    use crate::query::Query;
    use crate::table::{BatchStream, MemoryTable, Table, TableQuery};
    use arrow::array::{Float64Array, Int64Array, RecordBatch};
    use arrow::datatypes::SchemaRef;
    use filbert_pool::Stages;
    use futures::FutureExt;
    use futures::future::BoxFuture;
    use std::sync::Arc;
    use std::time::Duration;

    const ROWS: usize = 1_000;

    fn trades() -> RecordBatch {
        let numbers = Int64Array::from_iter_values(0..ROWS as i64);
        let values = Float64Array::from_iter_values((0..ROWS).map(|row| row as f64));
        RecordBatch::try_from_iter([("trade", Arc::new(numbers) as _), ("value", Arc::new(values) as _)])
            .unwrap()
    }

    /// A table that opens and says nothing.
    struct Silent;

    impl Table for Silent {
        fn name(&self) -> &str {
            "silent"
        }

        fn schema(&self) -> SchemaRef {
            trades().schema()
        }

        fn open(&self, _: &Stages, _: TableQuery) -> BoxFuture<'static, Result<BatchStream, CubeError>> {
            futures::future::ready(Ok(BatchStream::new(futures::stream::pending()))).boxed()
        }
    }

    /// Answers counted only when all of them were there.
    #[test]
    fn an_answer_counts_while_another_cube_is_still_asked() {
        let stages = Stages::start().unwrap();
        let of =
            |measure: &str| Forest::builder().measure(measure, Aggregator::sum("value")).build().unwrap();
        let table = MemoryTable::new("trades", trades().schema(), vec![trades()]).unwrap();
        let quick = Cube::builder(&stages, of("quick"), table).build().unwrap();
        let slow = Cube::builder(&stages, of("slow"), Silent).build().unwrap();
        let both = Composite::builder("both").cube("one", &quick).cube("other", &slow).build().unwrap();
        let forest = both.forest(Forest::builder().measure("sum", Combinator::sum(&["quick", "slow"])));
        let cube = Cube::builder(&stages, forest.unwrap(), both).build().unwrap();
        let within = Within::nothing(MemoryAccount::unlimited());
        let memory = within.memory.clone();
        let asked = cube.query_within(Query::new(["sum"]).by(["trade"]).no_cache(), &within).unwrap();
        // All that the first cube computed with is gone.
        let answer = quick.query(Query::new(["quick"]).by(["trade"])).unwrap().wait().unwrap();
        let answer: usize = answer.batch().columns().iter().map(bytes_of).sum();
        assert!(answer >= ROWS * 16);
        let clock = stages.clock();
        let deadline = clock.now() + Duration::from_secs(30);
        while memory.held() != answer {
            assert!(clock.now() < deadline, "{} bytes are held instead of {answer}", memory.held());
            std::thread::yield_now();
        }
        asked.cancel();
        assert_eq!(asked.wait().unwrap_err(), CubeError::Cancelled);
        assert_eq!(memory.held(), 0);
    }
}
