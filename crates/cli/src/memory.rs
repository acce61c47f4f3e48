//! Memory as counted by the operating system: the peak of this process, and the free memory.

use std::fs;

/// Peak resident memory in bytes; `None` if the system does not report it.
pub fn peak() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// Resident memory in bytes; `None` if the system does not report it.
pub fn resident() -> Option<u64> {
    kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmRSS:")
}

/// A budget that keeps the machine usable: most of the memory that is free now, in the machine and
/// in the container. A search that reaches it ends with the verdict unknown; without a budget the
/// kernel would kill the process without an answer.
pub fn budget() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| kilobytes(&text, "MemAvailable:"));
    let container = || {
        let number = |file: &str| fs::read_to_string(format!("/sys/fs/cgroup/{file}")).ok()?.trim().parse::<u64>().ok();
        Some(number("memory.max")?.saturating_sub(number("memory.current")?))
    };
    let allowed = fs::read_to_string("/proc/self/limits").ok().and_then(|limits| {
        let taken = kilobytes(&fs::read_to_string("/proc/self/status").ok()?, "VmSize:")?;
        Some(address_space(&limits)?.saturating_sub(taken))
    });
    let most_of = |free: u64| free / 8 * 7;
    // Tables and stacks reserve address space that they do not use yet, and a growing vector exists
    // twice for a moment. So the budget is a quarter of a limited address space.
    machine.into_iter().chain(container()).map(most_of).chain(allowed.map(|left| left / 4)).min()
}

/// The number of bytes this process may have at all (`ulimit -v`), if that is limited.
fn address_space(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The number in a line like `VmHWM:   1234 kB`, in bytes.
fn kilobytes(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let number: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(number * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_system_are_read() {
        let status = "Name:\tx\nVmHWM:\t    12 kB\nVmRSS:\t 8 kB\n";
        assert_eq!(kilobytes(status, "VmHWM:"), Some(12 * 1024));
        assert_eq!(kilobytes(status, "VmRSS:"), Some(8 * 1024));
        assert_eq!(kilobytes(status, "VmSwap:"), None);
        assert_eq!(address_space("Max data size  1 2 bytes\nMax address space  4096  unlimited  bytes\n"), Some(4096));
        assert_eq!(address_space("Max address space  unlimited  unlimited  bytes\n"), None);
    }

    // The two values are not compared with each other, because other tests allocate memory in
    // between.
    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_tells() {
        assert!(resident().is_some_and(|bytes| bytes > 0));
        assert!(peak().is_some_and(|bytes| bytes > 0));
        assert!(budget().is_some_and(|bytes| bytes > 0));
    }
}
