//! A DAG as a drawing: Mermaid for Markdown pages, Graphviz for everything else.

use super::{Dag, EdgeOfDag};
use crate::edge::Forwarding;
use std::fmt::Write;

impl Dag {
    /// The DAG as a Mermaid flowchart.
    ///
    /// ```
    /// use filbert_flow::{DagBuilder, processors};
    /// let mut dag = DagBuilder::new("drawn");
    /// let numbers = dag.vertex("numbers", processors::iterate(|_| 0..100_u64));
    /// let sink = dag.vertex("sink", processors::for_each(|_: u64| {}));
    /// dag.edge(numbers.output().to(sink.input()).partitioned().priority(1));
    /// let drawing = dag.build()?.to_mermaid();
    /// assert!(drawing.contains(r#"v0 -- "partitioned, priority 1" --> v1"#));
    /// # Ok::<(), filbert_flow::DagError>(())
    /// ```
    pub fn to_mermaid(&self) -> String {
        let mut text = "flowchart TD\n".to_owned();
        for (index, vertex) in self.inner.vertices.iter().enumerate() {
            // Writing to a String never fails.
            let _ = writeln!(
                text,
                "    v{index}[\"{}\"]",
                mermaid(&self.label(vertex.parallelism, &vertex.name))
            );
        }
        for edge in &self.inner.edges {
            let (from, to) = (edge.parts.from.vertex, edge.parts.to.vertex);
            let _ = match edge_label(edge) {
                label if label.is_empty() => writeln!(text, "    v{from} --> v{to}"),
                label => writeln!(text, "    v{from} -- \"{}\" --> v{to}", mermaid(&label)),
            };
        }
        text
    }

    /// The DAG in Graphviz's language, `dot`.
    ///
    /// ```
    /// use filbert_flow::{DagBuilder, processors};
    /// let mut dag = DagBuilder::new("drawn");
    /// let numbers = dag.vertex("numbers", processors::iterate(|_| 0..100_u64));
    /// let sink = dag.vertex("sink", processors::for_each(|_: u64| {}));
    /// dag.edge(numbers.output().to(sink.input()).broadcast());
    /// let drawing = dag.build()?.to_dot();
    /// assert!(drawing.contains(r#"v0 -> v1 [label="broadcast"];"#));
    /// # Ok::<(), filbert_flow::DagError>(())
    /// ```
    pub fn to_dot(&self) -> String {
        let mut text = format!("digraph \"{}\" {{\n", dot(&self.inner.name));
        for (index, vertex) in self.inner.vertices.iter().enumerate() {
            let label = dot(&self.label(vertex.parallelism, &vertex.name));
            let _ = writeln!(text, "    v{index} [label=\"{label}\"];");
        }
        for edge in &self.inner.edges {
            let (from, to) = (edge.parts.from.vertex, edge.parts.to.vertex);
            let _ = match edge_label(edge) {
                label if label.is_empty() => writeln!(text, "    v{from} -> v{to};"),
                label => writeln!(text, "    v{from} -> v{to} [label=\"{}\"];", dot(&label)),
            };
        }
        text.push_str("}\n");
        text
    }

    fn label(&self, parallelism: Option<usize>, name: &str) -> String {
        match parallelism {
            Some(count) => format!("{name} x{count}"),
            None => name.to_owned(),
        }
    }
}

/// What is not as everywhere.
fn edge_label(edge: &EdgeOfDag) -> String {
    let parts = &edge.parts;
    let mut words = Vec::new();
    match parts.forwarding {
        Forwarding::Unicast => {}
        other => words.push(other.to_string()),
    }
    if parts.priority != 0 {
        words.push(format!("priority {}", parts.priority));
    }
    if parts.is_buffered() {
        words.push("buffered".to_owned());
    }
    if parts.is_distributed {
        words.push("distributed".to_owned());
    }
    words.join(", ")
}

fn mermaid(text: &str) -> String {
    text.replace('"', "#quot;").replace(['\n', '\r'], " ")
}

fn dot(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ")
}
