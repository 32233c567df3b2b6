//! How a query was computed: as a tree of text, and as a Mermaid flow chart.

use crate::execute::{Run, StepTrace, SubTrace, Trace};
use crate::filter::Filter;
use crate::plan::{Level, Operation, Step, StepId};
use crate::query::Query;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// How a query was computed.
#[derive(Debug, Clone)]
pub struct Explanation {
    nodes: Vec<Node>,
    roots: Vec<usize>,
    head: String,
    peak: usize,
    spilled: u64,
    cubes: Vec<SubTrace>,
}

#[derive(Debug, Clone)]
struct Node {
    title: String,
    place: String,
    cost: String,
    inputs: Vec<usize>,
    sample: Option<String>,
}

impl Explanation {
    pub(crate) fn new(query: &Query, run: &Run, trace: &Trace) -> Self {
        let costs: BTreeMap<StepId, &StepTrace> = trace.steps.iter().map(|step| (step.step, step)).collect();
        let failures: BTreeMap<StepId, &str> =
            trace.failures.iter().map(|(step, why)| (*step, why.as_str())).collect();
        let nodes = run
            .plan
            .steps
            .iter()
            .enumerate()
            .map(|(id, step)| {
                let failure = failures.get(&StepId(id)).copied();
                node(step, costs.get(&StepId(id)).copied(), failure)
            })
            .collect();
        let mut seen = BTreeSet::new();
        let roots = run
            .plan
            .roots
            .iter()
            .flat_map(|root| &root.steps)
            .map(|step| step.0)
            .filter(|root| seen.insert(*root))
            .collect();
        let head = format!(
            "{} by {}{}\n{}: {} {}, {} {} in {}{}; {} of {} steps aggregate it; {} partitions{}, parallelism {}; at most {} of memory",
            query.measures.join(", "),
            if query.group_by.is_empty() { "nothing".to_owned() } else { query.group_by.join(", ") },
            under(&query.filter),
            if trace.cubes.is_empty() { "table" } else { "cubes" },
            trace.batches,
            if trace.batches == 1 { "batch" } else { "batches" },
            trace.rows,
            match (trace.are_groups, trace.cubes.is_empty(), trace.rows == 1) {
                (true, _, false) => "groups of its own",
                (true, _, true) => "group of its own",
                (false, true, false) => "rows",
                (false, true, true) => "row",
                (false, false, false) => "cells",
                (false, false, true) => "cell",
            },
            time(trace.scan),
            on(&trace.scan_stages),
            run.plan.leaves.len(),
            run.plan.steps.len(),
            run.partitions,
            match run.shard.iter().map(AsRef::as_ref).collect::<Vec<&str>>() {
                shard if shard.is_empty() => String::new(),
                shard => format!(" by {}", shard.join(", ")),
            },
            run.parallelism,
            size(run.memory.peak() as u64),
        );
        let spilled = run.spill.as_ref().map_or(0, |space| space.written());
        let head = if spilled > 0 { format!("{head}, {} spilled to disk", size(spilled)) } else { head };
        let mut head = match &trace.how {
            Some(how) => format!("{head}\nread by: {}", cut(how)),
            None => head,
        };
        run.plan.notes.iter().for_each(|note| head.push_str(&format!("\n{note}")));
        Self { nodes, roots, head, peak: run.memory.peak(), spilled, cubes: trace.cubes.clone() }
    }

    /// The most that the query held at any time, in bytes.
    pub fn peak_bytes(&self) -> usize {
        self.peak
    }

    /// What the query wrote to disk because it had no room in memory, in bytes.
    pub fn spilled_bytes(&self) -> u64 {
        self.spilled
    }

    /// The steps as a Mermaid flow chart.
    pub fn mermaid(&self) -> String {
        let mut text = String::from("flowchart BT\n");
        for (id, node) in self.nodes.iter().enumerate() {
            let label = format!("{}<br/>{}<br/>{}", node.title, node.place, node.cost).replace('"', "'");
            text.push_str(&format!("    s{id}[\"{label}\"]\n"));
            node.inputs.iter().for_each(|input| text.push_str(&format!("    s{input} --> s{id}\n")));
        }
        for (number, SubTrace { cube, leaves, explanation }) in self.cubes.iter().enumerate() {
            let label =
                format!("cube {cube}<br/>{}", explanation.head.replace('\n', "<br/>")).replace('"', "'");
            text.push_str(&format!("    c{number}[\"{label}\"]\n"));
            leaves.iter().for_each(|leaf| text.push_str(&format!("    c{number} --> s{}\n", leaf.0)));
        }
        text
    }
}

fn node(step: &Step, cost: Option<&StepTrace>, failure: Option<&str>) -> Node {
    let what = match &step.operation {
        Operation::Combine { cells, .. } => format!("{} {cells:?}", step.kind()),
        Operation::RollUp { aggregation, .. } => format!("{} {aggregation:?}", step.kind()),
        Operation::Shift { column, .. } => format!("{} {column}", step.kind()),
        Operation::Dispatch { spread, .. } => format!("{} {spread:?}", step.kind()),
        Operation::Cumulate { along, .. } => {
            format!("{} {} {:?}", step.kind(), along.column, along.aggregation)
        }
        _ => step.kind().to_owned(),
    };
    let sample = cost.and_then(|cost| cost.sample.clone());
    let cost = cost.map_or_else(
        || match failure {
            Some(why) => format!("failed: {}", cut(why)),
            None => "within another step".to_owned(),
        },
        |cost| {
            let with = if cost.fused > 1 {
                format!(", one pass with {} others", cost.fused - 1)
            } else {
                String::new()
            };
            let cache = match (cost.from_cache, cost.age) {
                (false, _) => String::new(),
                (true, None) => ", from the cache".to_owned(),
                (true, Some(age)) => format!(", from the cache, read {} ms ago", age.as_millis()),
            };
            let spread = if cost.is_spread_anew { ", spread anew" } else { "" };
            format!(
                "{}{}{with}{cache}{spread}, {} {}, {}{}",
                time(cost.time),
                on(&cost.stages),
                cost.slices,
                if cost.slices == 1 { "group" } else { "groups" },
                size(cost.bytes as u64),
                uneven(cost)
            )
        },
    );
    Node {
        title: format!("{}: {what}", step.measure),
        place: format!("by {}{}", level(&step.level), under(&step.filter)),
        cost,
        sample,
        inputs: step.inputs().iter().map(|input| input.0).collect(),
    }
}

/// The begin of a text that may be long.
fn cut(text: &str) -> String {
    const MOST: usize = 1_000;
    let mut letters = text.chars();
    let begin: String = letters.by_ref().take(MOST).collect();
    if letters.next().is_none() { begin } else { format!("{begin}…") }
}

fn level(level: &Level) -> String {
    if level.is_empty() { "nothing".to_owned() } else { level.join(", ") }
}

/// The stages that did it; nothing when none did.
fn on(stages: &str) -> String {
    if stages.is_empty() { String::new() } else { format!(" ({stages})") }
}

/// The condition that rows must hold; nothing when all rows count.
fn under(filter: &Filter) -> String {
    if *filter == Filter::All { String::new() } else { format!(" where {filter}") }
}

/// So many groups are worth a word about how evenly they are spread over partitions.
const MANY: usize = 10_000;

/// From here on one partition has so much more than the others that its threads wait for it.
const UNEVEN: f64 = 2.0;

fn uneven(cost: &StepTrace) -> String {
    match cost.slices >= MANY && cost.skew >= UNEVEN {
        true => format!(", uneven: the largest partition has {:.1} times the average", cost.skew),
        false => String::new(),
    }
}

fn time(time: Duration) -> String {
    let millis = time.as_secs_f64() * 1e3;
    match millis {
        ..10.0 => format!("{millis:.2} ms"),
        ..1_000.0 => format!("{millis:.0} ms"),
        _ => format!("{:.2} s", millis / 1e3),
    }
}

fn size(bytes: u64) -> String {
    let count = bytes as f64;
    match count {
        ..1e3 => format!("{bytes} bytes"),
        ..1e6 => format!("{:.1} kB", count / 1e3),
        ..1e9 => format!("{:.1} MB", count / 1e6),
        _ => format!("{:.1} GB", count / 1e9),
    }
}

impl fmt::Display for Explanation {
    /// Every step once, indented below the first that reads it. With a stack of its own: plans can be thousands of steps deep.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.head)?;
        let mut shown = BTreeSet::new();
        let mut rest: Vec<(usize, usize)> = self.roots.iter().rev().map(|root| (*root, 0)).collect();
        while let Some((id, depth)) = rest.pop() {
            let Node { title, place, cost, inputs, sample } = &self.nodes[id];
            // Deeper than anyone can read, the indent stays.
            let indent = "  ".repeat(depth.min(32));
            if !shown.insert(id) {
                writeln!(f, "{indent}#{id} {title}, see above")?;
                continue;
            }
            writeln!(f, "{indent}#{id} {title}, {place}: {cost}")?;
            for line in sample.iter().flat_map(|sample| sample.lines()) {
                writeln!(f, "{indent}  {line}")?;
            }
            rest.extend(inputs.iter().rev().map(|input| (*input, depth + 1)));
        }
        for SubTrace { cube, leaves, explanation } in &self.cubes {
            let leaves: Vec<String> = leaves.iter().map(|leaf| format!("#{}", leaf.0)).collect();
            writeln!(f, "cube {cube}, for {}:", leaves.join(", "))?;
            for line in explanation.to_string().lines() {
                writeln!(f, "  {line}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_readable() {
        let sizes = [48, 5_471, 5_471_142, 12_300_000_000].map(size);
        assert_eq!(sizes, ["48 bytes", "5.5 kB", "5.5 MB", "12.3 GB"]);
        let times = [164, 12_345, 2_500_000].map(|micros| time(Duration::from_micros(micros)));
        assert_eq!(times, ["0.16 ms", "12 ms", "2.50 s"]);
    }
}
