//! The files for operators in docs/operate fit the member: figures that exist, settings that it
//! takes.

use crate::service::{START, start};
use crate::{command, filbert, signal};
use filbert::MemberConfig;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Finds all words that look like figures of a member or its process.
fn figures_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(|word| ["filbert_", "process_"].iter().any(|prefix| word.starts_with(prefix))).collect()
}

/// The figures that a member gives when it has a map and a listener has had an event.
fn figures_of_a_member() -> BTreeSet<String> {
    let settings = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(settings.path(), "[map.orders]\n").unwrap();
    let mut member = command(&START);
    let (mut child, http, said) = start({
        member.arg("--config").arg(settings.path());
        member
    });
    let hazelcast = said.hazelcast.clone();
    let put = filbert(&["map", "--address", &hazelcast, "put", "orders", "1", "nuts"]);
    assert!(put.status.success());
    let mut client = TcpStream::connect(http).unwrap();
    client.write_all(b"GET /metrics HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    signal(child.id(), "TERM");
    child.wait().unwrap();
    let types = answer.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    types.filter_map(|line| line.split(' ').next().map(str::to_owned)).collect()
}

/// A figure that nobody gives leaves a panel empty, and an alert silent.
#[test]
fn dashboards_and_alerts_name_figures_that_there_are() {
    let (grafana, alerts) = (page("operate/grafana.json"), page("operate/alerts.yaml"));
    let dashboard: serde_json::Value = serde_json::from_str(&grafana).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() > 5);
    let mut named: BTreeSet<&str> = BTreeSet::new();
    for panel in panels {
        let targets = panel["targets"].as_array().unwrap();
        for expression in targets.iter().map(|target| target["expr"].as_str().unwrap()) {
            let figures = figures_in(expression);
            assert!(!figures.is_empty(), "{expression}");
            named.extend(figures);
        }
    }
    let expressions: Vec<&str> =
        alerts.lines().filter_map(|line| line.trim_start().strip_prefix("expr: ")).collect();
    assert!(expressions.len() > 5);
    named.extend(expressions.iter().flat_map(|expression| figures_in(expression)));
    let given = figures_of_a_member();
    // A member without listeners has no figures of theirs.
    let of_listeners = |name: &&&str| name.starts_with("filbert_events_");
    let unknown: Vec<_> =
        named.iter().filter(|name| !of_listeners(name)).filter(|name| !given.contains(**name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are not among {given:?}");
    let sources = include_str!("../../src/monitor/prometheus.rs");
    for name in named.iter().filter(of_listeners) {
        let short = name.trim_start_matches("filbert_events_");
        assert!(sources.contains(&format!("\"{short}\"")), "{name}");
    }
}

#[test]
fn the_settings_in_the_manifests_are_those_of_a_member() {
    let manifest = page("operate/kubernetes.yaml");
    let inside = manifest.lines().skip_while(|line| !line.contains("filbert.toml: |")).skip(1);
    let lines: Vec<&str> = inside
        .take_while(|line| line.is_empty() || line.starts_with("    "))
        .map(|line| line.get(4..).unwrap_or_default())
        .collect();
    let config = MemberConfig::from_toml(&lines.join("\n")).unwrap();
    assert_eq!(config.hazelcast.users.len(), 1);
    assert!(config.http.problems().is_empty(), "{:?}", config.http.problems());
    assert!(config.grid.data_directory.starts_with("/var/lib/filbert"));
    assert!(manifest.contains("mountPath: /var/lib/filbert }"));
    for path in ["/health/live", "/health/ready"] {
        assert!(manifest.contains(&format!("path: {path}, port: http, scheme: HTTPS")), "{path}");
    }
}
