//! The page of compatibility is written from the table that dispatch is made of.

use filbert_gate::hazelcast::{Need, SERVED};
use filbert_wire::messages::MESSAGES;
use std::collections::HashSet;
use std::fmt::Write;
use std::path::Path;

const BEGIN: &str = "<!-- begin generated: messages -->\n";
const END: &str = "<!-- end generated: messages -->\n";

fn table() -> String {
    let mut out = String::new();
    let mut services: Vec<&str> = MESSAGES.iter().map(|row| row.service).collect();
    services.dedup();
    let served = |id| SERVED.iter().find(|served| served.id == id);
    writeln!(out, "| Service | Messages | Served |\n|---|---|---|").unwrap();
    for service in &services {
        let rows: Vec<_> = MESSAGES.iter().filter(|row| row.service == *service).collect();
        let count = rows.iter().filter(|row| served(row.id).is_some()).count();
        writeln!(out, "| {service} | {} | {count} |", rows.len()).unwrap();
    }
    for service in services {
        writeln!(out, "\n### {service}\n\n| Message | Type | Since | Needs |\n|---|---|---|---|").unwrap();
        for row in MESSAGES.iter().filter(|row| row.service == service) {
            let need = match served(row.id).map(|served| served.need) {
                None => "not served".to_owned(),
                Some(Need::Right(service, action)) => {
                    format!("{}: {action:?}", service.as_str()).to_lowercase()
                }
                Some(_) => "login".to_owned(),
            };
            writeln!(out, "| `{}` | `{:06x}` | {} | {need} |", row.name, row.id, row.since).unwrap();
        }
    }
    out
}

/// `FILBERT_WRITE_DOCS=1` writes it.
#[test]
fn the_page_lists_what_is_served() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compatibility.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has a begin mark");
    let (_, after) = rest.split_once(END).expect("the page has an end mark");
    let written = format!("{before}{BEGIN}\n{}\n{END}{after}", table());
    if std::env::var_os("FILBERT_WRITE_DOCS").is_some() {
        std::fs::write(&path, written).unwrap();
    } else {
        assert!(
            page == written,
            "docs/compatibility.md is not what the table says; run the test with FILBERT_WRITE_DOCS=1"
        );
    }
}

#[test]
fn a_message_is_served_once_and_is_in_the_table() {
    let mut seen = HashSet::new();
    for served in SERVED {
        assert!(seen.insert(served.id), "{} has two rows", served.name);
        let row = MESSAGES.iter().find(|row| row.id == served.id);
        assert_eq!(row.map(|row| row.name), Some(served.name));
    }
}
