//! The layout of a table of buckets: from a hash to a bucket and a tag, and back.
//!
//! The top bits of the hash give the home bucket. A slot holds the bits that follow and its
//! distance from home, so the hash that a larger table needs can be read from the slot. Each
//! doubling uses up one of the bits that a slot knows. When few are left, they are renewed by
//! hashing the states again, which happens about once in ten doublings.
//!
//! The slots in a pair of buckets whose home is in that pair move to two adjacent pairs of the
//! table of twice the size. So a table is moved pair by pair, and memory is read and written in
//! order. The few slots that are farther from home are moved last.

/// Slots in a bucket: one cache line.
pub(crate) const SLOTS: usize = if cfg!(loom) { 2 } else { 8 };
pub(crate) const SLOTS_LOG: u32 = SLOTS.trailing_zeros();
const DISTANCE_BITS: u32 = 4;
pub(crate) const MOST_DISTANCE: u64 = if cfg!(loom) { 2 } else { (1 << DISTANCE_BITS) - 1 };
/// The fewest bits of the hash that a slot must know; with fewer, they are renewed.
const LEAST_KNOWN: u32 = 12;

/// The slots of a bucket.
pub(crate) type Bucket = [u64; SLOTS];

/// The size of a table and what its slots know of the hash.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buckets {
    bits: u32,
    place_bits: u32,
    /// The number of bits of the hash, below those of the home bucket, that the slots know.
    known: u32,
    /// The mask of the distance and the known bits in a slot.
    pub tag_mask: u64,
    pub place_mask: u64,
}

/// Computes the home bucket and the tag of a hash. The tag is the known bits below those of the
/// home bucket, at their position in a slot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HomeAndTag {
    bits: u32,
    home_mask: u64,
    tag_mask: u64,
}

impl HomeAndTag {
    #[inline(always)]
    pub fn of(&self, hash: u64) -> (u64, u64) {
        let turned = hash.rotate_left(self.bits);
        (turned & self.home_mask, turned >> DISTANCE_BITS & self.tag_mask)
    }
}

/// The contents of a slot that moves to another table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moving {
    pub home: u64,
    pub tag: u64,
    pub place: u64,
}

impl Buckets {
    /// `1 << bits` buckets, of slots with places of `place_bits` bits.
    pub fn new(bits: u32, place_bits: u32) -> Buckets {
        Self::that_know(bits, place_bits, 64 - DISTANCE_BITS - place_bits)
    }

    fn that_know(bits: u32, place_bits: u32, known: u32) -> Buckets {
        let tag_mask = !0 << (64 - DISTANCE_BITS - known);
        Buckets { bits, place_bits, known, tag_mask, place_mask: (1 << place_bits) - 1 }
    }

    /// Twice as many buckets.
    pub fn twice(&self) -> Buckets {
        match self.known - 1 {
            known if known >= LEAST_KNOWN => Self::that_know(self.bits + 1, self.place_bits, known),
            _ => Self::new(self.bits + 1, self.place_bits),
        }
    }

    /// Eight times as many buckets, whose slots know as much of each hash as they can.
    pub fn times_eight(&self) -> Buckets {
        Self::new(self.bits + 3, self.place_bits)
    }

    pub fn len(&self) -> usize {
        1 << self.bits
    }

    pub fn slots(&self) -> usize {
        SLOTS << self.bits
    }

    pub fn bytes(&self) -> u64 {
        (SLOTS as u64 * 8) << self.bits
    }

    /// The function from a hash to its home bucket and tag.
    #[inline(always)]
    pub fn home_and_tag(&self) -> HomeAndTag {
        // No table knows more bits of a hash than there are, so the bits of the home bucket end
        // below those of the tag.
        debug_assert!(self.bits + self.known <= 64);
        HomeAndTag { bits: self.bits, home_mask: (1 << self.bits) - 1, tag_mask: self.tag_mask }
    }

    /// The contents of a slot at `distance` from home, without the place.
    #[inline(always)]
    pub fn filled(tag: u64, distance: u64) -> u64 {
        tag | distance << (64 - DISTANCE_BITS)
    }

    /// The slot of the bucket at which the search for a tag begins. It follows from bits of the
    /// hash that every table knows.
    #[inline(always)]
    pub fn first_slot(tag: u64) -> usize {
        (tag >> (64 - DISTANCE_BITS - 4)) as usize % SLOTS
    }

    /// The stride of the probe sequence. It follows from bits of the hash that every table knows.
    #[inline(always)]
    fn stride(tag: u64) -> u64 {
        tag >> (64 - DISTANCE_BITS - 8) | 1
    }

    /// The bucket at `distance` from home. The second one lies next to the first, in the pair of
    /// cache lines that the processor fetches together.
    #[inline(always)]
    pub fn bucket(&self, home: u64, tag: u64, distance: u64) -> usize {
        let mask = (1u64 << self.bits) - 1;
        let bucket = match distance {
            0 => home,
            1 => home ^ 1,
            _ => home.wrapping_add((distance - 1).wrapping_mul(Self::stride(tag))) & mask,
        };
        bucket as usize
    }

    /// The inverse of [`bucket`](Self::bucket).
    #[inline(always)]
    fn home_of(&self, bucket: usize, tag: u64, distance: u64) -> u64 {
        // No branch: which of the first two it is cannot be predicted.
        if distance < 2 {
            return bucket as u64 ^ distance;
        }
        let mask = (1u64 << self.bits) - 1;
        (bucket as u64).wrapping_sub((distance - 1).wrapping_mul(Self::stride(tag))) & mask
    }

    /// The contents of a slot of `bucket`, for a table with `twice` as many buckets.
    #[inline(always)]
    fn moving(&self, twice: &Buckets, bucket: usize, slot: u64, rehash: impl Fn(u64) -> u64) -> Moving {
        let place = slot & self.place_mask;
        if twice.known >= self.known {
            return twice.moving_from(rehash(place), place);
        }
        let tag = slot & self.tag_mask & (!0 >> DISTANCE_BITS);
        let home = self.home_of(bucket, tag, slot >> (64 - DISTANCE_BITS));
        // The highest bit of the tag becomes the lowest bit of the home.
        let longer = tag << (DISTANCE_BITS + 1) >> DISTANCE_BITS;
        Moving { home: home << 1 | tag >> (63 - DISTANCE_BITS), tag: longer & twice.tag_mask, place }
    }

    /// An entry whose whole hash is known, for these buckets.
    pub fn moving_from(&self, hash: u64, place: u64) -> Moving {
        let (home, tag) = self.home_and_tag().of(hash);
        Moving { home, tag, place }
    }

    /// Moves the slots of pair number `pair` to the four buckets, all empty, that the pair becomes
    /// among `twice` as many. `put` fills a slot of one of the four. Slots that belong elsewhere or
    /// find no room are passed to `stray`.
    #[inline(always)]
    pub fn spread(
        &self,
        twice: &Buckets,
        pair: usize,
        slots: &[Bucket; 2],
        rehash: impl Fn(u64) -> u64,
        put: impl FnMut(usize, usize, u64),
        mut stray: impl FnMut(Moving),
    ) {
        let mut four = Four { filled: [0; 4], put };
        for (side, bucket) in slots.iter().enumerate() {
            // Which slots are filled is random, so a branch for each slot would often be
            // mispredicted.
            let mut filled = bucket.iter().enumerate().fold(0u32, |set, (index, &slot)| set | u32::from(slot != 0) << index);
            while filled != 0 {
                let slot = bucket[filled.trailing_zeros() as usize];
                filled &= filled - 1;
                let distance = slot >> (64 - DISTANCE_BITS);
                if distance < 2 && twice.known < self.known {
                    // The common case: the slot stays in its pair, and the next bit of the tag
                    // chooses one of two adjacent buckets.
                    let next_bit = slot >> (63 - DISTANCE_BITS) & 1;
                    let home = (side as u64 ^ distance) << 1 | next_bit;
                    let tag = slot << (DISTANCE_BITS + 1) >> DISTANCE_BITS & twice.tag_mask;
                    if four.settle(home as usize, tag, slot & self.place_mask) {
                        continue;
                    }
                }
                let moving = self.moving(twice, 2 * pair + side, slot, &rehash);
                let home = moving.home.wrapping_sub(4 * pair as u64);
                let Moving { tag, place, .. } = moving;
                let settled =
                    home < 4 && (four.settle(home as usize, tag, place) || four.settle(home as usize ^ 1, Self::filled(tag, 1), place));
                if !settled {
                    stray(moving);
                }
            }
        }
    }
}

/// Four buckets being filled.
struct Four<P> {
    /// Fills a slot of a bucket.
    put: P,
    /// The filled slots of each bucket as bits, repeated once so that a search can start at any
    /// slot.
    filled: [u32; 4],
}

impl<P: FnMut(usize, usize, u64)> Four<P> {
    /// Puts a slot into one of the four buckets; `filled` is its tag with the distance. Returns
    /// `false` if there is no room.
    #[inline(always)]
    fn settle(&mut self, bucket: usize, filled: u64, place: u64) -> bool {
        let bucket = bucket % 4;
        let first = Buckets::first_slot(filled);
        let ahead = (self.filled[bucket] >> first).trailing_ones() as usize;
        if ahead >= SLOTS {
            return false;
        }
        let index = (first + ahead) % SLOTS;
        self.filled[bucket] |= (1 | 1 << SLOTS) << index;
        (self.put)(bucket, index, filled | place);
        true
    }
}
