//! Memory that was freed goes back to the system at once, if a program wants that.
//!
//! The allocator of the GNU C library keeps large pieces for later use: once a piece has been
//! freed, it takes pieces up to that size from a heap, which shrinks only at its end. A search that
//! frees memory because its budget is short would not become smaller. Other allocators return large
//! pieces anyway.

/// Pieces of this size are returned to the system when they are freed.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const LARGE: i32 = 1 << 17;

/// From now on, the memory of large pieces returns to the system when they are freed. This holds
/// for the whole process.
pub fn return_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: `mallopt` may be called at any time, and sets parameters of the allocator only.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
        libc::mallopt(libc::M_TRIM_THRESHOLD, LARGE);
    }
}
