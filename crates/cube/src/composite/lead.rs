//! Asking the cubes of a composite, all at the same time. Nothing is left running: whatever happens, all of them are waited for.

use super::Ask;
use crate::cuboid::Cuboid;
use crate::error::CubeError;
use crate::execute::{Results, Run, StepTrace, SubTrace, Trace};
use crate::lead::{Question, bytes_of};
use crate::result::CubeResult;
use futures::future::{Either, join_all, select};
use std::pin::pin;

/// The answers of all cubes, in the order of what they were asked; none where there was nothing to ask for.
pub(crate) async fn ask_cubes(
    question: &Question,
    asks: &[Ask],
) -> Result<Vec<Option<CubeResult>>, CubeError> {
    let Some(composite) = question.table.cubes() else { return Ok(Vec::new()) };
    let mut asked = Vec::with_capacity(asks.len());
    for ask in asks {
        asked.push(match ask.is_empty() {
            true => None,
            false => {
                let within = question.within(ask.rights.clone());
                Some(composite.cube(ask.cube).cube.query_within(ask.query(&question.query), &within)?)
            }
        });
    }
    let tokens: Vec<_> = asked.iter().flatten().map(|asked| asked.token()).collect();
    let end_all = |reason: &CubeError| tokens.iter().for_each(|token| token.cancel(reason.clone()));
    let end_all = &end_all;
    let each = asked.into_iter().map(|asked| async move {
        let Some(asked) = asked else { return Ok(None) };
        // The others need not go on when one of them fails.
        asked.await.map(Some).inspect_err(|_| end_all(&CubeError::Cancelled))
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
    answers: Vec<Option<CubeResult>>,
    (results, trace): (&mut Results, &mut Trace),
) -> Result<(), CubeError> {
    let Some(composite) = question.table.cubes() else { return Ok(()) };
    for (ask, answer) in asks.iter().zip(answers) {
        run.cancel.check()?;
        let sub = composite.cube(ask.cube);
        let Some(mut answer) = answer else {
            for (leaf, _) in &ask.leaves {
                results.put(*leaf, Cuboid::empty(&ask.level, &run.keys, run.partitions, &run.memory));
            }
            continue;
        };
        let _held = run.memory.try_reserve(answer.batch.columns().iter().map(bytes_of).sum())?;
        for (position, (leaf, measure)) in ask.leaves.iter().enumerate() {
            if let Some((_, error)) = answer.failures.iter().find(|(failed, _)| failed == measure) {
                results.put(*leaf, Err(error.clone()));
                continue;
            }
            let begin = run.clock.now();
            let cells = ask.cells(sub, &answer.batch, position)?;
            let cuboid = match cells.num_rows() {
                0 => Cuboid::empty(&ask.level, &run.keys, run.partitions, &run.memory)?,
                _ => run.cuboid_of(measure, &ask.level, &cells)?,
            };
            let time = run.clock.now().saturating_sub(begin);
            trace.steps.push(StepTrace::of(run, *leaf, &cuboid, time, 1));
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
