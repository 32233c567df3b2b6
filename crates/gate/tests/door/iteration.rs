//! Maps that are iterated over with a predicate and a projection, as Java's client does: partition by partition, page by page.

use crate::line::{Member, int};
use filbert_grid::query::{Predicate, Projection};
use filbert_wire::messages::error::ErrorCode;
use filbert_wire::messages::map::FetchWithQuery;
use filbert_wire::{Data, FromData, ToData};
use std::collections::BTreeSet;

fn fetch(iteration_pointers: Vec<(i32, i32)>, batch: i32) -> FetchWithQuery {
    FetchWithQuery {
        name: "m".into(),
        iteration_pointers,
        batch,
        projection: Projection::Single("this".parse().unwrap()).to_data().unwrap(),
        predicate: Predicate::less("this", 500).unwrap().to_data().unwrap(),
    }
}

#[test]
fn a_query_is_read_page_by_page() {
    let member = Member::start();
    let mut client = member.client();
    let map = member.grid.map("m");
    for key in 0..2_000 {
        map.set(int(-key), int(key)).wait().unwrap();
    }
    for batch in [1, 3, 1_000] {
        let mut found = BTreeSet::new();
        for partition in 0..271 {
            let mut pointers = vec![(i32::MAX, -1)];
            while pointers.last().unwrap().0 >= 0 {
                let page = client.call_on(partition, &fetch(pointers, batch)).unwrap();
                pointers = page.iteration_pointers;
                // A client takes an empty page for the end.
                assert!(!page.results.is_empty() || pointers.last().unwrap().0 < 0);
                assert!(page.results.len() <= batch as usize);
                for value in page.results {
                    assert!(found.insert(i32::from_data(&value.unwrap()).unwrap()), "twice");
                }
            }
        }
        assert_eq!(found, (0..500).collect());
    }
    for (partition, pointers) in [(-1, vec![(i32::MAX, -1)]), (0, Vec::new()), (0, vec![(-1, 0)])] {
        let refused = client.call_on(partition, &fetch(pointers, 3)).unwrap_err();
        assert_eq!(refused.errors[0].code, ErrorCode::IllegalArgument as i32);
    }
    let no_projection = FetchWithQuery { projection: Data::new(0, &[]), ..fetch(vec![(i32::MAX, -1)], 3) };
    let refused = client.call_on(0, &no_projection).unwrap_err();
    assert_eq!(refused.errors[0].code, ErrorCode::Serialization as i32);
}
