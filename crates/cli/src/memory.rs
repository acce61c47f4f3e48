//! The most memory this process has held, as the system counts it.

/// Peak resident memory in bytes; nothing where the system does not tell.
pub fn peak() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// The line `VmHWM:   1234 kB` of Linux's process status.
fn parse(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_water_mark_is_read() {
        assert_eq!(parse("Name:\tx\nVmHWM:\t    12 kB\nVmRSS:\t 8 kB\n"), Some(12 * 1024));
        assert_eq!(parse("Name:\tx\n"), None);
    }
}
