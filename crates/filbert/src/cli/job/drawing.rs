//! A DAG that ran, as text: its vertices from the sources on, where each sends its items, and how full the way there got.

use super::super::table::Table;
use filbert::flow::{EdgeMetrics, JobMetrics, VertexMetrics};
use std::io::{self, Write};

/// From here on a queue counts as full: the last slots are claimed in batches.
const FULL: f64 = 0.95;

/// Letters of a bar.
const BAR: usize = 10;

/// The vertices, each after those that feed it; otherwise in the order in which they were added.
pub(in crate::cli) fn in_order(metrics: &JobMetrics) -> Vec<&VertexMetrics> {
    let mut left: Vec<&VertexMetrics> = metrics.vertices.iter().collect();
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let is_fed = |vertex: &VertexMetrics| {
            metrics
                .edges
                .iter()
                .any(|edge| edge.to == vertex.name && left.iter().any(|other| other.name == edge.from))
        };
        // A DAG has no cycle, so one is always found.
        let next = left.iter().position(|vertex| !is_fed(vertex)).unwrap_or(0);
        ordered.push(left.remove(next));
    }
    ordered
}

/// Writes the drawing, and which vertices held others up.
pub(super) fn write(metrics: &JobMetrics, out: &mut impl Write) -> io::Result<()> {
    let mut table = Table::new(&["dataflow", "forwarding", "items", "full at most", "%"]);
    for vertex in in_order(metrics) {
        let blank = || String::new();
        table.row([format!("{} x{}", vertex.name, vertex.processors), blank(), blank(), blank(), blank()]);
        for edge in metrics.edges.iter().filter(|edge| edge.from == vertex.name) {
            let mut forwarding = edge.forwarding.to_string();
            if edge.priority != 0 {
                forwarding += &format!(", priority {}", edge.priority);
            }
            table.row([
                format!("  └─► {}", edge.to),
                forwarding,
                edge.items.to_string(),
                bar(edge.fullest),
                format!("{:.0}", edge.fullest * 100.0),
            ]);
        }
    }
    table.write(out, "  ")?;
    let full: Vec<&EdgeMetrics> = metrics.edges.iter().filter(|edge| edge.fullest >= FULL).collect();
    for EdgeMetrics { from, to, .. } in &full {
        writeln!(
            out,
            "  Back-pressure: the queues from {from} to {to} were full; {to} was slower than {from}."
        )?;
    }
    let waited: Vec<&VertexMetrics> =
        metrics.vertices.iter().filter(|vertex| full.is_empty() && !vertex.blocked.is_zero()).collect();
    match waited.as_slice() {
        _ if !full.is_empty() => {}
        // One receiver of several had no room: its queue was full, those of the edge together were not.
        [vertex, ..] => writeln!(
            out,
            "  Little back-pressure: {} waited for room at times, while other queues of the same edge had some.",
            vertex.name
        )?,
        [] => writeln!(out, "  No back-pressure: no queue was full.")?,
    }
    Ok(())
}

fn bar(share: f64) -> String {
    let filled = ((share * BAR as f64).round() as usize).min(BAR);
    format!("[{}{}]", "#".repeat(filled), ".".repeat(BAR - filled))
}

#[cfg(test)]
mod tests {
    use super::*;
    use filbert::Member;
    use filbert::flow::DagBuilder;
    use filbert::flow::processors::{filter, for_each, iterate};

    #[test]
    fn a_vertex_comes_after_those_that_feed_it() {
        let mut dag = DagBuilder::new("backwards");
        let sink = dag.vertex("sink", for_each(|_: u64| {}));
        let odd = dag.vertex("odd", filter(|n: &u64| n % 2 == 1));
        let source = dag.vertex("source", iterate(|share| share.part_of(0..10)));
        dag.edge(odd.output().to(sink.input()).partitioned());
        dag.edge(source.output().to(odd.input()).priority(2));
        let member = Member::start().unwrap();
        let job = member.submit(&dag.build().unwrap()).unwrap();
        job.wait().unwrap();
        let metrics = job.metrics();
        let names: Vec<&str> = in_order(&metrics).iter().map(|vertex| vertex.name.as_str()).collect();
        assert_eq!(names, ["source", "odd", "sink"]);
        let mut out = Vec::new();
        write(&metrics, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        assert!(lines[1].starts_with("source x"), "{text}");
        assert!(lines[2].starts_with("└─► odd"), "{text}");
        assert!(lines[2].contains("unicast, priority 2"), "{text}");
        assert!(lines[4].contains("partitioned") && lines[4].contains(" 5  ["), "{text}");
        assert!(lines[6].starts_with("No back-pressure"), "{text}");
    }

    #[test]
    fn a_bar_is_as_long_as_what_it_shows() {
        assert_eq!(
            [bar(0.0), bar(0.5), bar(1.0), bar(2.0)],
            ["[..........]", "[#####.....]", "[##########]", "[##########]"]
        );
    }
}
