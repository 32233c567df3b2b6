//! Rows of results: a table for people as they come, or one JSON object per row for programs.

use crate::harness::Times;
use std::io::Write;

/// Prints rows as they are measured.
pub(crate) struct Report {
    json: bool,
    rows: usize,
}

impl Report {
    pub(crate) fn new(json: bool) -> Self {
        Self { json, rows: 0 }
    }

    /// A row in which less is better: ours against one peer.
    pub(crate) fn time(&mut self, suite: &str, case: &str, ours: &Times, peer: &Times) {
        let spread = ours.spread() + peer.spread();
        self.row(suite, case, "ns", ours.median(), Some((peer.name, peer.median())), true, spread);
    }

    /// A row in which more is better, from times: `items` per call, shown as millions a second.
    pub(crate) fn rate(&mut self, suite: &str, case: &str, items: f64, ours: &Times, peer: &Times) {
        let rate = |times: &Times| items * 1e3 / times.median();
        let spread = ours.spread() + peer.spread();
        self.row(suite, case, "M/s", rate(ours), Some((peer.name, rate(peer))), false, spread);
    }

    /// A row that only reports.
    pub(crate) fn alone(&mut self, suite: &str, case: &str, unit: &str, ours: f64) {
        self.row(suite, case, unit, ours, None, true, 0.0);
    }

    /// Any row; `less` says that a smaller figure is better.
    #[expect(clippy::too_many_arguments, reason = "one argument per column")]
    pub(crate) fn row(
        &mut self,
        suite: &str,
        case: &str,
        unit: &str,
        ours: f64,
        peer: Option<(&str, f64)>,
        less: bool,
        spread: f64,
    ) {
        let ratio = peer.map(|(_, peer)| if less { peer / ours } else { ours / peer });
        if self.json {
            let row = serde_json::json!({
                "suite": suite, "case": case, "unit": unit, "ours": ours,
                "peer": peer.map(|(_, value)| value), "peer_name": peer.map(|(name, _)| name),
                "ratio": ratio, "spread": spread,
            });
            print(&row.to_string());
            return;
        }
        if self.rows == 0 {
            print(&format!(
                "{:<44} {:>14} {:>14} {:<5} {:<22} {:>7} {:>8}",
                "case", "ours", "peer", "unit", "peer name", "ratio", "spread"
            ));
        }
        self.rows += 1;
        let (name, value) = peer.map_or(("-", "-".to_owned()), |(name, value)| (name, format!("{value:.1}")));
        let ratio = ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}"));
        print(&format!(
            "{case:<44} {ours:>14.1} {value:>14} {unit:<5} {name:<22} {ratio:>7} {:>7.0}%",
            spread * 100.0
        ));
    }

    /// What a ratio must reach.
    pub(crate) fn bar(&mut self, suite: &str, case: &str, ratio: f64, bar: f64, spread: f64) {
        let verdict = if ratio >= bar { "met" } else { "missed" };
        if self.json {
            let row = serde_json::json!({
                "suite": suite, "case": case, "ratio": ratio, "bar": bar, "verdict": verdict, "spread": spread,
            });
            print(&row.to_string());
            return;
        }
        print(&format!("  bar {bar:.2} {verdict}: {ratio:.2} +- {:.0}%, {case}", spread * 100.0));
    }

    /// The last line.
    pub(crate) fn finish(&self) {
        if !self.json {
            print("ratio > 1: ours better; spread: half the distance between the quartiles, ours plus peer");
        }
    }
}

/// Prints a line; when the reader went away (`... | head`) there is nothing left to measure for.
fn print(line: &str) {
    if writeln!(std::io::stdout(), "{line}").is_err() {
        std::process::exit(0);
    }
}
