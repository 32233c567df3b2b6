//! How much memory this process may have: that of the machine, of its control group, or of a limit on its address space.

use std::path::{Path, PathBuf};

/// What a process may use where the system tells nothing.
const UNKNOWN: u64 = 4 << 30;

/// The memory that there is for this process.
///
/// ```
/// let memory = filbert_grid::MachineMemory::measure();
/// assert!(memory.bytes > 0);
/// println!("{} bytes, {}", memory.bytes, memory.whose);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct MachineMemory {
    /// So many bytes.
    pub bytes: u64,
    /// What sets that bound, in words.
    pub whose: &'static str,
}

impl MachineMemory {
    /// Asks the system. The smallest bound counts.
    pub fn measure() -> Self {
        let read = |path: &Path| std::fs::read_to_string(path).ok();
        Self::of(&read)
    }

    fn of(read: &dyn Fn(&Path) -> Option<String>) -> Self {
        let machine = machine(read).map(|bytes| (bytes, "the memory of the machine"));
        let group = group(read).map(|bytes| (bytes, "the limit of its control group"));
        let space = address_space(read).map(|bytes| (bytes, "the limit on its address space"));
        let least = [machine, group, space].into_iter().flatten().min_by_key(|(bytes, _)| *bytes);
        let (bytes, whose) = least.unwrap_or((UNKNOWN, "a guess: the system tells nothing"));
        Self { bytes, whose }
    }
}

/// The limit of the data of a grid that nobody set one for: two fifths of the memory there is.
pub fn default_grid_bytes() -> u64 {
    MachineMemory::measure().bytes / 5 * 2
}

fn machine(read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let text = read(Path::new("/proc/meminfo"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1_024)
}

/// The limit of the control group of this process, or of one above it. In a container the group's own files stand at the root.
fn group(read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|one| one == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let folder: PathBuf = [root, path.trim_start_matches('/')].iter().collect();
        let above = folder.ancestors().take_while(|folder| folder.starts_with(root));
        // "max" is no number, and no limit.
        above.filter_map(|folder| read(&folder.join(file))?.trim().parse::<u64>().ok()).min()
    });
    limits.min()
}

fn address_space(read: &dyn Fn(&Path) -> Option<String>) -> Option<u64> {
    let text = read(Path::new("/proc/self/limits"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: (&str, &str) = ("/proc/meminfo", "MemTotal:       24683940 kB\nMemFree: 5 kB\n");

    fn measured(files: &[(&str, &str)]) -> MachineMemory {
        let read = |path: &Path| {
            let found = files.iter().find(|(name, _)| Path::new(name) == path);
            found.map(|(_, text)| (*text).to_owned())
        };
        MachineMemory::of(&read)
    }

    #[test]
    fn the_smallest_bound_counts() {
        assert_eq!(measured(&[MACHINE]).bytes, 24_683_940 * 1_024);
        let group = ("/proc/self/cgroup", "0::/system.slice/filbert.service\n");
        let unbounded = ("/sys/fs/cgroup/system.slice/filbert.service/memory.max", "max\n");
        assert_eq!(measured(&[MACHINE, group, unbounded]).bytes, 24_683_940 * 1_024);
        let above = ("/sys/fs/cgroup/system.slice/memory.max", "536870912\n");
        let bounded = measured(&[MACHINE, group, unbounded, above]);
        assert_eq!((bounded.bytes, bounded.whose), (512 << 20, "the limit of its control group"));
        // A container sees its own group at the root, whatever its path says.
        let root = ("/sys/fs/cgroup/memory.max", "1000000\n");
        assert_eq!(measured(&[MACHINE, group, root]).bytes, 1_000_000);
    }

    #[test]
    fn older_control_groups_and_limits_of_the_shell_are_read() {
        let group = ("/proc/self/cgroup", "7:cpu,memory:/a\n1:name=systemd:/a\n");
        let limit = ("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "2000000\n");
        assert_eq!(measured(&[MACHINE, group, limit]).bytes, 2_000_000);
        let limits = (
            "/proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max address space         1000000              unlimited            bytes     \n",
        );
        assert_eq!(measured(&[MACHINE, limits]).bytes, 1_000_000);
        assert_eq!(measured(&[]).bytes, UNKNOWN);
    }
}
