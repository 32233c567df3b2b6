//! What is said of a job when it is over: its result, its vertices and its edges.

use super::super::Outcome;
use super::super::table::Table;
use super::drawing::{self, in_order};
use super::observe::word;
use filbert::flow::{JobMetrics, JobStatus, VertexMetrics};
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;

/// The result of a job: what its columns are, and its rows of numbers and texts.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) columns: &'static [&'static str],
    pub(super) rows: Vec<Vec<Value>>,
}

/// A job that is over.
pub(super) struct Report<'a> {
    pub(super) name: &'a str,
    pub(super) status: JobStatus,
    /// Why it did not complete.
    pub(super) error: Option<String>,
    pub(super) elapsed: Duration,
    pub(super) result: Rows,
    pub(super) metrics: JobMetrics,
}

impl Report<'_> {
    /// For people.
    pub(super) fn write(&self, out: &mut impl Write) -> Outcome {
        if self.error.is_none() {
            let mut rows = Table::new(self.result.columns);
            for row in &self.result.rows {
                rows.row(
                    row.iter().map(|cell| cell.as_str().map_or_else(|| cell.to_string(), str::to_owned)),
                );
            }
            rows.write(out, "  ")?;
            writeln!(out)?;
        }
        // One that did not begin has nothing to tell.
        if self.error.is_some() && self.metrics.vertices.iter().all(|vertex| vertex.items_out == 0) {
            return Ok(());
        }
        writeln!(out, "Job {:?}: {} in {:.3} s", self.name, word(self.status), self.elapsed.as_secs_f64())?;
        let mut vertices = Table::new(&[
            "vertex",
            "processors",
            "in",
            "out",
            "busy %",
            "blocked %",
            "idle %",
            "other %",
            "calls",
            "over 1 ms",
        ]);
        for vertex in in_order(&self.metrics) {
            let [busy, blocked, idle, other] = self.shares(vertex).map(|share| share.to_string());
            vertices.row([
                vertex.name.clone(),
                vertex.processors.to_string(),
                vertex.items_in.to_string(),
                vertex.items_out.to_string(),
                busy,
                blocked,
                idle,
                other,
                vertex.calls.to_string(),
                vertex.long_calls.to_string(),
            ]);
        }
        vertices.write(out, "  ")?;
        writeln!(
            out,
            "  Shares of the job's time: busy at work, blocked by full queues, idle without items; other: waiting for a"
        )?;
        writeln!(out, "  worker, or done.\n")?;
        drawing::write(&self.metrics, out)?;
        Ok(())
    }

    /// Busy, blocked, idle and other in percent: whole numbers that add up to 100.
    fn shares(&self, vertex: &VertexMetrics) -> [u32; 4] {
        let [busy, blocked, idle] = vertex.shares(self.elapsed);
        percents([busy, blocked, idle, (1.0 - busy - blocked - idle).max(0.0)])
    }

    /// For programs.
    pub(super) fn write_json(&self, out: &mut impl Write) -> Outcome {
        let ms = |time: Duration| (time.as_secs_f64() * 1e6).round() / 1e3;
        let key = |column: &str| column.replace(' ', "_");
        let rows = self.result.rows.iter().map(|row| {
            let cells = self.result.columns.iter().map(|column| key(column)).zip(row.iter().cloned());
            Value::Object(cells.collect())
        });
        let vertices = in_order(&self.metrics).into_iter().map(|vertex| {
            json!({
                "name": vertex.name, "processors": vertex.processors,
                "items_in": vertex.items_in, "items_out": vertex.items_out,
                "busy_ms": ms(vertex.busy), "blocked_ms": ms(vertex.blocked), "idle_ms": ms(vertex.idle),
                "calls": vertex.calls, "long_calls": vertex.long_calls, "longest_call_ms": ms(vertex.longest_call),
            })
        });
        let edges = self.metrics.edges.iter().map(|edge| {
            json!({
                "from": edge.from, "to": edge.to, "forwarding": edge.forwarding.to_string(),
                "priority": edge.priority, "items": edge.items, "capacity": edge.capacity,
                "fullest": edge.fullest, "spilled_bytes": edge.spilled_bytes,
            })
        });
        let report = json!({
            "job": self.name, "status": word(self.status), "error": self.error, "elapsed_ms": ms(self.elapsed),
            "result": rows.collect::<Vec<_>>(),
            "vertices": vertices.collect::<Vec<_>>(), "edges": edges.collect::<Vec<_>>(),
        });
        writeln!(out, "{report}")?;
        Ok(())
    }
}

/// Parts of one as whole percents that add up to 100: those that lose most by rounding down get what is left.
fn percents<const N: usize>(shares: [f64; N]) -> [u32; N] {
    let whole: f64 = shares.iter().sum();
    let exact = shares.map(|share| if whole > 0.0 { share / whole * 100.0 } else { 0.0 });
    let mut percents = exact.map(|share| share.floor() as u32);
    let mut by_loss: Vec<usize> = (0..N).collect();
    by_loss.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()));
    let left = 100_u32.saturating_sub(percents.iter().sum());
    if whole > 0.0 {
        by_loss.iter().take(left as usize).for_each(|at| percents[*at] += 1);
    }
    percents
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percents_add_up() {
        assert_eq!(percents([1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0]), [34, 33, 33]);
        assert_eq!(percents([0.126, 0.126, 0.126, 0.622]), [13, 13, 12, 62]);
        assert_eq!(percents([1.2, 0.0]), [100, 0]);
        assert_eq!(percents([0.0, 0.0]), [0, 0]);
    }
}
