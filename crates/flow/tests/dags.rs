//! What is refused when a DAG is built, and with which words.

use filbert_flow::processors::{for_each, iterate, map};
use filbert_flow::{
    DagBuilder, DagError, Failure, Inbox, Many, MetaSupplier, Outbox, Processor, Share, Step, Supplier,
    Vertex,
};

type Inner = Vertex<Many<u64>, Many<u64>>;

fn source(dag: &mut DagBuilder, name: &str) -> Vertex<(), Many<u64>> {
    dag.vertex(name, iterate(|_| 0..10_u64))
}

fn inner(dag: &mut DagBuilder, name: &str) -> Inner {
    dag.vertex(name, map(|n: u64| n))
}

fn sink(dag: &mut DagBuilder, name: &str) -> Vertex<Many<u64>, ()> {
    dag.vertex(name, for_each(|_: u64| {}))
}

fn refused(build: impl FnOnce(&mut DagBuilder)) -> String {
    let mut dag = DagBuilder::new("refused");
    build(&mut dag);
    dag.build().map(|_| ()).unwrap_err().to_string()
}

#[test]
fn every_mistake_names_the_vertex() {
    assert_eq!(refused(|_| {}), "the DAG \"refused\" has no vertex; add one with `vertex`");
    let twice = refused(|dag| {
        source(dag, "same");
        sink(dag, "same");
    });
    assert_eq!(twice, "there are two vertices \"same\"; give each its own name");
    let no_input = refused(|dag| {
        sink(dag, "lonely");
    });
    assert_eq!(
        no_input,
        "vertex \"lonely\" has 0 inbound edge(s) and needs at least 1; connect each port once"
    );
    let gap = refused(|dag| {
        let (source, sink) = (source(dag, "source"), sink(dag, "sink"));
        dag.edge(source.output().to(sink.input_number(1)));
    });
    assert_eq!(
        gap,
        "vertex \"sink\" has inbound edges, but none at ordinal 0; ordinals go from 0 without gaps"
    );
    let taken = refused(|dag| {
        let (one, two, sink) = (source(dag, "one"), source(dag, "two"), sink(dag, "sink"));
        dag.edge(one.output().to(sink.input()));
        dag.edge(two.output().to(sink.input()));
    });
    assert_eq!(taken, "vertex \"sink\" has two inbound edges at ordinal 0; give the second another ordinal");
    let pair = refused(|dag| {
        let (source, sink) = (source(dag, "source"), sink(dag, "sink"));
        dag.edge(source.output().to(sink.input()));
        dag.edge(source.output_number(1).to(sink.input_number(1)));
    });
    assert_eq!(pair, "there are two edges from \"source\" to \"sink\"; at most one is allowed");
    let nothing = refused(|dag| {
        let (source, sink) = (source(dag, "source"), sink(dag, "sink"));
        dag.local_parallelism(&sink, 0);
        dag.edge(source.output().to(sink.input()));
    });
    assert_eq!(nothing, "the local parallelism of vertex \"sink\" is 0; it must be at least 1");
    let empty = refused(|dag| {
        let (source, sink) = (source(dag, "source"), sink(dag, "sink"));
        dag.edge(source.output().to(sink.input()).queue_size(0));
    });
    assert_eq!(empty, "the queue size of the edge from \"source\" to \"sink\" is 0; it must be at least 1");
}

#[test]
fn cycles_are_drawn() {
    let circle = refused(|dag| {
        let (source, a, b, c) = (source(dag, "source"), inner(dag, "a"), inner(dag, "b"), inner(dag, "c"));
        dag.edge(source.output().to(a.input()));
        dag.edge(a.output().to(b.input()));
        dag.edge(b.output().to(c.input()));
        dag.edge(c.output().to(a.input_number(1)));
    });
    assert_eq!(circle, "the DAG has a cycle: a -> b -> c -> a; remove one of its edges");
    let own = refused(|dag| {
        let (source, a) = (source(dag, "source"), inner(dag, "a"));
        dag.edge(source.output().to(a.input()));
        dag.edge(a.output().to(a.input_number(1)));
    });
    assert!(own.contains("a -> a"), "{own}");
}

#[test]
fn ports_of_another_dag_do_not_fit() {
    let mut other = DagBuilder::new("other");
    let stranger = sink(&mut other, "stranger");
    let mut dag = DagBuilder::new("mine");
    let source = source(&mut dag, "source");
    dag.edge(source.output().to(stranger.input()));
    assert!(matches!(dag.build(), Err(DagError::ForeignPort { .. })));
}

#[test]
fn a_long_chain_is_checked_without_deep_recursion() {
    let mut dag = DagBuilder::new("long");
    let first = source(&mut dag, "source");
    let chain: Vec<Inner> = (0..2_000).map(|n| inner(&mut dag, &format!("v{n}"))).collect();
    let last = sink(&mut dag, "sink");
    dag.edge(first.output().to(chain[0].input()));
    for pair in chain.windows(2) {
        dag.edge(pair[0].output().to(pair[1].input()));
    }
    dag.edge(chain[chain.len() - 1].output().to(last.input()));
    assert!(dag.build().is_ok());
}

#[test]
fn a_vertex_with_ports_of_several_types_needs_each_of_them() {
    /// Sorts numbers from words.
    struct Splits;
    impl Processor for Splits {
        type In = (String,);
        type Out = (u64, String);
        fn process(
            &mut self,
            inbox: &mut Inbox<(String,)>,
            outbox: &mut Outbox<(u64, String)>,
        ) -> Result<Step, Failure> {
            for word in inbox.at::<0>().drain() {
                match word.parse() {
                    Ok(number) => outbox.at::<0>().emit(number),
                    Err(_) => outbox.at::<1>().emit(word),
                }
            }
            Ok(Step::Again)
        }
    }
    let mut dag = DagBuilder::new("split");
    let words = dag.vertex("words", iterate(|_| ["1".to_owned(), "one".to_owned()]));
    let splits = dag.vertex("splits", |_: Share| Splits);
    let numbers = sink(&mut dag, "numbers");
    dag.edge(words.output().to(splits.input()));
    dag.edge(splits.output_0().to(numbers.input()));
    let refused = dag.build().map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        refused,
        "vertex \"splits\" has 1 outbound edge(s) and needs exactly 2; connect each port once"
    );
}

#[test]
fn the_parallelism_of_a_vertex_of_another_dag_is_refused() {
    let mut other = DagBuilder::new("other");
    let stranger = source(&mut other, "stranger");
    let said = refused(|dag| {
        let numbers = source(dag, "numbers");
        let end = sink(dag, "end");
        dag.edge(numbers.output().to(end.input()));
        dag.local_parallelism(&stranger, 3);
    });
    assert!(said.contains("vertex of another DAG"), "{said}");
}

#[test]
fn the_queues_behind_large_items_are_short_unless_the_edge_says_otherwise() {
    struct Large;

    impl MetaSupplier for Large {
        type Processor = Emits;
        type Supplier = Large;

        fn supplier(&self, _: Share) -> Result<Large, Failure> {
            Ok(Large)
        }

        fn preferred_queue_size(&self) -> Option<usize> {
            Some(3)
        }
    }

    impl Supplier for Large {
        type Processor = Emits;

        fn processor(&mut self, _: Share) -> Result<Emits, Failure> {
            Ok(Emits)
        }
    }

    struct Emits;

    impl Processor for Emits {
        type In = ();
        type Out = Many<u64>;
    }

    let stages = filbert_pool::Stages::simulated(1);
    let capacity = |size: Option<usize>| {
        let mut dag = DagBuilder::new("large");
        let large = dag.vertex("large", Large);
        let end = sink(&mut dag, "end");
        dag.local_parallelism(&large, 1);
        dag.local_parallelism(&end, 1);
        let edge = large.output().to(end.input());
        dag.edge(match size {
            Some(size) => edge.queue_size(size),
            None => edge,
        });
        let job = dag.build().unwrap().submit(&stages).unwrap();
        job.wait().unwrap();
        job.metrics().edges[0].capacity
    };
    assert_eq!([capacity(None), capacity(Some(1024))], [3, 1024]);
}
