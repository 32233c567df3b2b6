//! DAGs that are sent as text: everything comes back, closures are named, and hostile texts are refused.

use filbert_flow::processors::{self, Collected};
use filbert_flow::{Dag, DagBuilder, DataCodec, FlowRegistry, JobSettings, Share};
use filbert_pool::Stages;
use proptest::prelude::*;

/// The code of both sides, and where its sink collects.
struct Code {
    registry: FlowRegistry,
    dag: Dag,
    list: Collected<i64>,
}

fn code() -> Code {
    let list = Collected::new();
    let mut registry = FlowRegistry::new();
    let numbers = registry.vertex("numbers", |below: i64| {
        Ok(processors::iterate(move |share: Share| (0..below).skip(share.index).step_by(share.count)))
    });
    let scale = registry.vertex("scale", |(by, plus): (i64, i64)| {
        if by == 0 {
            Err("by must not be 0".into())
        } else {
            Ok(processors::map(move |n: i64| n * by + plus))
        }
    });
    let kept = list.clone();
    let sink = registry.vertex("list", move |()| Ok(processors::collect(&kept)));
    let digit = registry.key("digit", |n: &i64| n % 10);
    registry.data_items::<i64>();
    let mut dag = DagBuilder::new("sent");
    let source = dag.registered("source", &numbers, 100).unwrap();
    let left = dag.registered("left", &scale, (3, 0)).unwrap();
    let right = dag.registered("right", &scale, (1, 1_000)).unwrap();
    let sink = dag.registered("sink", &sink, ()).unwrap();
    dag.local_parallelism(&sink, 3);
    dag.edge(source.output().to(left.input()).partitioned_by_key(&digit).queue_size(7));
    dag.edge(source.output_number(1).to(right.input()).partitioned());
    dag.edge(left.output().to(sink.input()).all_to_one().distributed(DataCodec));
    dag.edge(right.output().to(sink.input_number(1)).priority(5).high_water_mark(3).with_codec(DataCodec));
    let refused = dag.registered("wrong", &scale, (0, 0)).map(|_| ()).unwrap_err().to_string();
    assert!(
        refused.contains("vertex \"wrong\" can not be made by the code \"scale\"")
            && refused.contains("must not be 0")
    );
    Code { registry, dag: dag.build().unwrap(), list }
}

#[test]
fn a_dag_comes_back_and_runs() {
    let Code { registry, dag, list } = code();
    let text = dag.encode(&registry).unwrap();
    let back = Dag::decode(&text, &registry).unwrap();
    assert_eq!(back.to_mermaid(), dag.to_mermaid());
    assert_eq!(back.encode(&registry).unwrap(), text);
    let stages = Stages::simulated(1);
    back.submit_with(&stages, JobSettings::new().encode_distributed(true)).unwrap().wait().unwrap();
    let mut found = list.take();
    found.sort_unstable();
    let mut expected: Vec<i64> = (0..100).flat_map(|n| [n * 3, n + 1_000]).collect();
    expected.sort_unstable();
    assert_eq!(found, expected);
}

#[test]
fn closures_are_named_at_once() {
    let mut registry = FlowRegistry::new();
    let numbers = registry.vertex("numbers", |below: u64| Ok(processors::iterate(move |_| 0..below)));
    let sink = registry.vertex("sink", |()| Ok(processors::for_each(|_: u64| {})));
    registry.items::<u64>();
    let mut dag = DagBuilder::new("closure");
    let source = dag.registered("source", &numbers, 1).unwrap();
    let middle = dag.vertex("middle", processors::map(|n: u64| n));
    let end = dag.registered("end", &sink, ()).unwrap();
    dag.edge(source.output().to(middle.input()));
    dag.edge(middle.output().to(end.input()));
    let refused = dag.build().unwrap().encode(&registry).unwrap_err().to_string();
    assert!(refused.starts_with("vertex \"middle\" is made of closures"), "{refused}");

    let mut dag = DagBuilder::new("closure on an edge");
    let source = dag.registered("source", &numbers, 1).unwrap();
    let end = dag.registered("end", &sink, ()).unwrap();
    dag.edge(source.output().to(end.input()).partitioned_by(|n| *n));
    let dag = dag.build().unwrap();
    let refused = dag.encode(&registry).unwrap_err().to_string();
    assert!(refused.starts_with("the edge source -> end has a closure as its key"), "{refused}");
}

#[test]
fn what_is_not_registered_here_is_named() {
    let Code { registry, dag, .. } = code();
    let text = dag.encode(&registry).unwrap();
    let cases = [
        (text.replace("\"scale\"", "\"rescale\""), "vertex \"left\" needs the vertex code \"rescale\""),
        (text.replace("\"digit\"", "\"letter\""), "the edge source -> left needs the key \"letter\""),
        (
            text.replace("\"parameters\":[3,0]", "\"parameters\":\"three\""),
            "vertex \"left\" can not be made by the code \"scale\"",
        ),
        (
            text.replace("\"to\":[1,0]", "\"to\":[1,1]"),
            "vertex \"left\" has inbound edges, but none at ordinal 0",
        ),
        (text.replace("\"to\":[1,0]", "\"to\":[0,0]"), "connects an output of i64 with an input of nothing"),
        (text.replace("\"to\":[1,0]", "\"to\":[9,0]"), "an edge refers to a vertex that there is not"),
        (text.replace("\"queue_size\":7", "\"queue_size\":70000000000"), "its queues have"),
        (text.replace("\"queue_size\":7", "\"queue_size\":0"), "the queue size"),
        (text.replace("\"parallelism\":null", "\"parallelism\":20000"), "processors, more than 10000"),
        (text.replace("\"buffer\":null", "\"buffer\":0"), "the buffer of the edge"),
        (text[..text.len() / 2].to_owned(), "this is not an encoded DAG"),
    ];
    for (changed, expected) in cases {
        assert_ne!(changed, text);
        let refused = Dag::decode(&changed, &registry).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}, expected {expected}");
    }
}

proptest! {
    #[test]
    fn changed_texts_never_panic(at in 0_usize..2_000, with in any::<char>()) {
        let Code { registry, dag, .. } = code();
        let text = dag.encode(&registry).unwrap();
        let at = text.char_indices().map(|(at, _)| at).nth(at % text.len()).unwrap();
        let changed = format!("{}{with}{}", &text[..at], &text[at..].chars().skip(1).collect::<String>());
        if let Ok(dag) = Dag::decode(&changed, &registry) {
            dag.encode(&registry).unwrap();
        }
    }
}
