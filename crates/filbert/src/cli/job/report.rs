//! What is said of a job when it is over: its result, its vertices and its edges.

use super::super::Outcome;
use super::super::table::Table;
use super::Rows;
use super::observe::word;
use filbert::flow::{JobMetrics, JobStatus};
use serde_json::json;
use std::io::Write;
use std::time::Duration;

/// A job that is over.
pub(super) struct Report<'a> {
    pub(super) name: &'a str,
    pub(super) status: JobStatus,
    pub(super) elapsed: Duration,
    pub(super) rows: Rows,
    pub(super) metrics: JobMetrics,
    /// By edge: how full it was at most, 0 to 1.
    pub(super) fullest: Vec<f64>,
}

impl Report<'_> {
    /// For people.
    pub(super) fn write(&self, out: &mut impl Write) -> Outcome {
        let mut rows = Table::new(&["result", "count"]);
        for (name, count) in &self.rows {
            rows.row([name.clone(), count.to_string()]);
        }
        rows.write(out, "  ")?;
        writeln!(out, "\nJob {:?}: {} in {:.3} s", self.name, word(self.status), self.elapsed.as_secs_f64())?;
        let mut vertices = Table::new(&[
            "vertex",
            "processors",
            "in",
            "out",
            "busy %",
            "blocked %",
            "idle %",
            "calls",
            "over 1 ms",
        ]);
        for vertex in &self.metrics.vertices {
            let shares = vertex.shares(self.elapsed).map(|share| format!("{:.0}", share * 100.0));
            let [busy, blocked, idle] = shares;
            let (items_in, items_out) = (vertex.items_in.to_string(), vertex.items_out.to_string());
            let (calls, long) = (vertex.calls.to_string(), vertex.long_calls.to_string());
            vertices.row([
                vertex.name.clone(),
                vertex.processors.to_string(),
                items_in,
                items_out,
                busy,
                blocked,
                idle,
                calls,
                long,
            ]);
        }
        vertices.write(out, "  ")?;
        writeln!(out)?;
        let mut edges = Table::new(&["edge", "forwarding", "items", "fullest %"]);
        for (edge, fullest) in self.metrics.edges.iter().zip(&self.fullest) {
            let name = format!("{} -> {}", edge.from, edge.to);
            edges.row([
                name,
                edge.forwarding.to_string(),
                edge.items.to_string(),
                format!("{:.0}", fullest * 100.0),
            ]);
        }
        edges.write(out, "  ")?;
        Ok(())
    }

    /// For programs.
    pub(super) fn write_json(&self, out: &mut impl Write) -> Outcome {
        let vertices = self.metrics.vertices.iter().map(|vertex| {
            json!({
                "name": vertex.name, "processors": vertex.processors,
                "items_in": vertex.items_in, "items_out": vertex.items_out,
                "busy_ms": vertex.busy.as_millis() as u64, "blocked_ms": vertex.blocked.as_millis() as u64,
                "idle_ms": vertex.idle.as_millis() as u64,
                "calls": vertex.calls, "long_calls": vertex.long_calls,
            })
        });
        let edges = self.metrics.edges.iter().zip(&self.fullest).map(|(edge, fullest)| {
            json!({
                "from": edge.from, "to": edge.to, "forwarding": edge.forwarding.to_string(),
                "items": edge.items, "fullest": fullest,
            })
        });
        let report = json!({
            "job": self.name, "status": word(self.status), "elapsed_ms": self.elapsed.as_millis() as u64,
            "result": self.rows,
            "vertices": vertices.collect::<Vec<_>>(), "edges": edges.collect::<Vec<_>>(),
        });
        writeln!(out, "{report}")?;
        Ok(())
    }
}
