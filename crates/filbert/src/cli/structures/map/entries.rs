//! Prints keys and entries, a page of a partition at a time: a large map fits no answer, and what is not shown is not fetched.

use super::super::super::Outcome;
use super::super::super::form::Shown;
use super::super::super::table::{Layout, Table};
use super::super::context::Context;
use super::super::kind::Kind;
use super::super::limit::{LimitOption, say_left_out};
use filbert_wire::Data;
use filbert_wire::messages::map::{FetchEntries, FetchKeys};
use serde_json::json;
use std::error::Error;

/// The entries of a page.
const PAGE: usize = 1_000;

/// The rows that say how wide the columns are; those behind them are written as they come, so that a large map takes no memory.
const LOOKED_AT: usize = 1_000;

/// The pointers of an iteration that begins.
const BEGIN: (i32, i32) = (i32::MAX, -1);

/// A page, and the pointers of the next.
type Page<T> = (Vec<T>, Vec<(i32, i32)>);

/// Prints the keys, a line each.
pub(super) fn keys(context: &mut Context, map: &str, limit: LimitOption, json: bool) -> Outcome {
    let fetch = |context: &mut Context, partition: i32, iteration_pointers: Vec<(i32, i32)>, batch: i32| {
        let request = FetchKeys { name: map.into(), iteration_pointers, batch };
        let page = context.client()?.call_at(partition, &request)?;
        Ok((page.keys, page.iteration_pointers))
    };
    let show = |context: &mut Context, key: Data| {
        let key = Shown::of(&key);
        context.line_or(json, &json!({ "key": key.json, "key_type": key.kind }), key.line())
    };
    let most = limit.most(context, json);
    let shown = each(context, map, most, fetch, show)?;
    finish(context, map, ("key", "keys"), most, shown)
}

/// Prints the entries with their types: a table, or an object each.
pub(super) fn entries(context: &mut Context, map: &str, limit: LimitOption, json: bool) -> Outcome {
    let fetch = |context: &mut Context, partition: i32, iteration_pointers: Vec<(i32, i32)>, batch: i32| {
        let request = FetchEntries { name: map.into(), iteration_pointers, batch };
        let page = context.client()?.call_at(partition, &request)?;
        Ok((page.entries, page.iteration_pointers))
    };
    let mut table = Table::new(&["key", "type", "value", "type"]);
    let mut layout: Option<Layout> = None;
    let show = |context: &mut Context, (key, value): (Data, Data)| {
        let (key, value) = (Shown::of(&key), Shown::of(&value));
        if json {
            return context.line(json!({
                "key": key.json, "key_type": key.kind, "value": value.json, "value_type": value.kind
            }));
        }
        let row = [key.cell(), key.kind, value.cell(), value.kind];
        if let Some(layout) = &layout {
            return Ok(layout.write_row(context.out(), "", &row)?);
        }
        table.row(row);
        if table.len() == LOOKED_AT {
            layout = Some(table.begin(context.out(), "")?);
        }
        Ok(())
    };
    let most = limit.most(context, json);
    let shown = each(context, map, most, fetch, show)?;
    if !json && layout.is_none() {
        table.write(&mut context.out(), "")?;
    }
    finish(context, map, Kind::Map.parts(), most, shown)
}

/// Fetches page after page until `most` are shown; returns how many were.
fn each<T>(
    context: &mut Context,
    map: &str,
    most: usize,
    mut fetch: impl FnMut(&mut Context, i32, Vec<(i32, i32)>, i32) -> Result<Page<T>, Box<dyn Error>>,
    mut show: impl FnMut(&mut Context, T) -> Outcome,
) -> Result<usize, Box<dyn Error>> {
    let client = context.client()?;
    Kind::Map.check_is_there(client, map)?;
    let (partitions, mut shown) = (client.partitions(), 0);
    for partition in 0..partitions {
        let mut pointers = vec![BEGIN];
        while pointers.last().is_some_and(|(at, _)| *at >= 0) {
            let left = most - shown;
            if left == 0 {
                return Ok(shown);
            }
            let batch = i32::try_from(left.min(PAGE)).unwrap_or(i32::MAX);
            let (page, next) = fetch(context, partition, pointers, batch)?;
            for item in page.into_iter().take(left) {
                show(context, item)?;
                shown += 1;
            }
            pointers = next;
        }
    }
    Ok(shown)
}

/// Says how many were left out, if that many were asked for as there were shown.
fn finish(context: &mut Context, map: &str, what: (&str, &str), most: usize, shown: usize) -> Outcome {
    if shown < most {
        return Ok(());
    }
    let all = Kind::Map.size(context.client()?, map)?.unwrap_or_default();
    say_left_out(context, Kind::Map, what, (shown, usize::try_from(all).unwrap_or_default()))
}
