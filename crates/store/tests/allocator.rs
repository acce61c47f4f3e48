//! Freed memory returns to the system. This test has a process of its own, because others would
//! change what it measures.

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn what_is_freed_is_returned() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").expect("a process has a status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
        line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).expect("a number")
    };
    store::return_freed_memory();
    let pieces = |size: usize, count: usize| (0..count).map(|_| vec![1_u8; size]).collect::<Vec<_>>();
    // Without the call, this piece would make the later ones parts of the heap, which does not
    // shrink because of the pieces that are kept.
    drop(pieces(8 << 20, 1));
    let before = resident();
    let (kept, dropped): (Vec<_>, Vec<_>) = pieces(1 << 20, 64).into_iter().enumerate().partition(|(number, _)| number % 8 == 7);
    drop(dropped);
    let after = resident();
    assert!(after < before + (16 << 10), "{before} and {after} kB");
    drop(kept);
}
