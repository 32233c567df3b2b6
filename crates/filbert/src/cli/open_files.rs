//! Whether the system lets a member open as many connections as its settings promise.

use filbert::MemberConfig;

/// Files that a member needs beside its connections: logs and snapshots of maps, spilled parts, the files that queries read.
const OTHERS: u64 = 256;

/// A warning where the limit of open files is below what the doors may take; `None` where it is high enough or not known.
pub(super) fn warning(config: &MemberConfig) -> Option<String> {
    warning_at(limit()?, connections(config))
}

fn warning_at(limit: u64, connections: u64) -> Option<String> {
    (limit < connections + OTHERS).then(|| {
        format!(
            "the system allows {limit} open files (ulimit -n, or LimitNOFILE of a service), so about {} clients at a time; the settings \
             allow {connections}",
            limit.saturating_sub(OTHERS)
        )
    })
}

/// Connections that all doors together take.
fn connections(config: &MemberConfig) -> u64 {
    let doors = [&config.hazelcast.connections, &config.postgres.connections, &config.http.connections];
    doors.iter().map(|door| door.connections as u64).sum()
}

/// The soft limit of open files of this process. Only Linux tells it without a call of the C library.
fn limit() -> Option<u64> {
    parsed(&std::fs::read_to_string("/proc/self/limits").ok()?)
}

fn parsed(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    // "unlimited" is no number, and no limit.
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_soft_limit_is_read() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max open files            1024                 1048576              files     \n";
        assert_eq!(parsed(text), Some(1024));
        assert_eq!(parsed("Max open files            unlimited            unlimited            files"), None);
    }

    #[test]
    fn a_limit_below_the_connections_is_told() {
        let told = warning_at(1_024, 20_100).unwrap();
        assert!(told.contains("about 768 clients") && told.contains("20100"), "{told}");
        assert_eq!(warning_at(65_536, 20_100), None);
        assert_eq!(connections(&MemberConfig::default()), 20_100);
    }
}
