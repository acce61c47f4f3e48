//! Large regions of zeroed memory from the operating system.
//!
//! Tables and arenas are mapped, not allocated. A table of a gigabyte costs nothing until it is
//! touched, and its memory is returned to the system when it is dropped. Arenas and tables reserve
//! addresses for everything they may ever hold, so they need not move. They can request huge pages,
//! which save about a quarter of the time of a search that misses the translation caches.

use crate::sync::AtomicU64;
use memmap2::{MmapMut, MmapOptions};

/// The size from which on huge pages are worth the rounding.
#[cfg(not(loom))]
const HUGE: usize = 4 << 20;

/// The size from which on memory that grows in place uses huge pages.
#[cfg(not(loom))]
const HUGE_FROM: usize = 2 << 20;

/// Zeroed memory, shared between threads.
#[derive(Debug)]
pub(crate) struct Region {
    start: *mut u8,
    bytes: usize,
    /// Owns the memory; it is not touched directly after `start` was taken.
    _map: MmapMut,
}

// SAFETY: a region is plain memory. Its users access it through atomics, or through raw pointers
// with a protocol of their own that says who may write when. The region itself never accesses it.
unsafe impl Send for Region {}
// SAFETY: as above.
unsafe impl Sync for Region {}

impl Region {
    /// `bytes` zeroed bytes, or `None` if the system refuses.
    #[cfg(not(loom))]
    fn new(bytes: usize) -> Option<Region> {
        Self::map(bytes, bytes >= HUGE)
    }

    /// Addresses for `bytes` bytes, backed by memory only where they are touched.
    fn reserve(bytes: usize) -> Option<Region> {
        Self::map(bytes, false)
    }

    /// Like [`reserve`](Self::reserve), but reserves less if the system does not have as many
    /// addresses again for other uses; never less than `least`.
    pub fn reserve_some(bytes: usize, least: usize) -> Option<Region> {
        let mut size = bytes.max(least);
        while size > least {
            if let Some(region) = Self::reserve(size).filter(|_| Self::reserve(size).is_some()) {
                return Some(region);
            }
            size = (size / 2).max(least);
        }
        Self::reserve(least)
    }

    fn map(bytes: usize, huge: bool) -> Option<Region> {
        let bytes = bytes.max(1);
        let mut map = MmapOptions::new().len(bytes).no_reserve_swap().map_anon().ok()?;
        #[cfg(target_os = "linux")]
        if huge {
            // This is only advice: without huge pages everything works, a little more slowly.
            let _ = map.advise(memmap2::Advice::HugePage);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = huge;
        Some(Region { start: map.as_mut_ptr(), bytes, _map: map })
    }

    /// Asks for huge pages from byte `from` on.
    pub fn prefer_huge_pages(&self, from: usize) {
        #[cfg(target_os = "linux")]
        if from < self.bytes {
            let _ = self._map.advise_range(memmap2::Advice::HugePage, from, self.bytes - from);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = from;
    }

    pub fn start(&self) -> *mut u8 {
        self.start
    }

    pub fn len(&self) -> usize {
        self.bytes
    }

    /// The region as atomic words.
    #[cfg(not(loom))]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page-aligned, zeroed, lives as long as `self`, and a word of any
        // value is a valid atomic.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.bytes / 8) }
    }
}

/// Zeroed atomic words, which every table consists of.
#[derive(Debug)]
pub(crate) struct Words {
    #[cfg(not(loom))]
    region: Region,
    #[cfg(not(loom))]
    len: usize,
    #[cfg(loom)]
    words: Vec<AtomicU64>,
}

#[cfg(not(loom))]
impl Words {
    pub fn new(len: usize) -> Option<Words> {
        Region::new(len.checked_mul(8)?).map(|region| Words { region, len })
    }

    /// Like [`new`](Self::new), with addresses for up to `room` words if the system has them.
    pub fn with_room(len: usize, room: usize) -> Option<Words> {
        let bytes = room.checked_mul(8).filter(|_| room > len);
        // If the system does not have as many addresses again, they are needed for other uses.
        let region = bytes.and_then(|bytes| Region::reserve(bytes).filter(|_| Region::reserve(bytes).is_some()));
        let Some(region) = region else { return Self::new(len) };
        region.prefer_huge_pages(HUGE_FROM);
        Some(Words { region, len })
    }

    /// Whether there are addresses for `len` words.
    pub fn has_room(&self, len: usize) -> bool {
        len.checked_mul(8).is_some_and(|bytes| bytes <= self.region.len())
    }

    /// Extends the length to `len` words, for which there must be room; the new words are zero.
    pub fn extend(&mut self, len: usize) {
        assert!(self.has_room(len), "addresses for {len} words");
        self.len = self.len.max(len);
    }

    #[inline(always)]
    pub fn get(&self) -> &[AtomicU64] {
        &self.region.words()[..self.len]
    }

    /// The address of the first word.
    #[inline(always)]
    pub fn start(&self) -> *const AtomicU64 {
        self.region.start().cast_const().cast()
    }

    /// `N` words from number `first` on.
    ///
    /// # Safety
    /// There are that many words.
    #[inline(always)]
    pub unsafe fn some<const N: usize>(&self, first: usize) -> &[AtomicU64; N] {
        // SAFETY: by the caller's promise.
        unsafe { self.some_from(self.start(), first) }
    }

    /// Like [`some`](Self::some), for a caller that already has the [`start`](Self::start).
    ///
    /// # Safety
    /// There are that many words, and `start` is their start.
    #[inline(always)]
    pub unsafe fn some_from<const N: usize>(&self, start: *const AtomicU64, first: usize) -> &[AtomicU64; N] {
        // SAFETY: as for `Region::words`; by the caller's promise all of them lie inside the
        // region.
        unsafe { &*start.add(first).cast() }
    }
}

#[cfg(loom)]
impl Words {
    pub fn new(len: usize) -> Option<Words> {
        Some(Words { words: (0..len).map(|_| AtomicU64::new(0)).collect() })
    }

    /// Like [`new`](Self::new); there is always room.
    pub fn with_room(len: usize, _room: usize) -> Option<Words> {
        Self::new(len)
    }

    /// Whether there are addresses for `len` words.
    pub fn has_room(&self, _len: usize) -> bool {
        true
    }

    /// Extends the length to `len` words; the new words are zero.
    pub fn extend(&mut self, len: usize) {
        self.words.resize_with(len.max(self.words.len()), || AtomicU64::new(0));
    }

    pub fn get(&self) -> &[AtomicU64] {
        &self.words
    }

    /// The address of the first word.
    pub fn start(&self) -> *const AtomicU64 {
        self.words.as_ptr()
    }

    /// `N` words from number `first` on.
    ///
    /// # Safety
    /// None here; in other builds there must be that many words.
    pub unsafe fn some<const N: usize>(&self, first: usize) -> &[AtomicU64; N] {
        // SAFETY: this build has no requirement.
        unsafe { self.some_from(self.start(), first) }
    }

    /// Like [`some`](Self::some).
    ///
    /// # Safety
    /// As for [`some`](Self::some).
    pub unsafe fn some_from<const N: usize>(&self, _start: *const AtomicU64, first: usize) -> &[AtomicU64; N] {
        self.words[first..first + N].try_into().unwrap_or_else(|_| unreachable!("a slice of {N} words"))
    }
}

/// Prefetches the cache line at `address`, which need not be valid.
#[inline(always)]
pub(crate) fn prefetch<T>(address: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and cannot fault.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
