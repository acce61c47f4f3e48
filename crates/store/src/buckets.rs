//! Where a table of buckets keeps what: from a hash to a bucket and a tag, and back.
//!
//! The home bucket is given by the top bits of the hash, and a slot holds the bits that follow, and its distance from home. So the hash a
//! larger table needs is read off the slot. Each doubling uses up one of the bits a slot knows; when few are left, they are renewed by
//! hashing the things themselves, which happens about once in ten doublings.
//!
//! What is at home in a pair of buckets, or in the other bucket of its pair, belongs into two pairs of the table of twice the size, side by
//! side: a table is moved pair by pair, with memory read and written in order. The few things that are farther from home come last.

/// Slots in a bucket: one cache line.
pub(crate) const SLOTS: usize = if cfg!(loom) { 2 } else { 8 };
pub(crate) const SLOTS_LOG: u32 = SLOTS.trailing_zeros();
const DISTANCE_BITS: u32 = 4;
pub(crate) const MOST_DISTANCE: u64 = if cfg!(loom) { 2 } else { (1 << DISTANCE_BITS) - 1 };
/// Fewest bits of the hash a slot must know; below, they are renewed.
const LEAST_KNOWN: u32 = 12;

/// The slots of a bucket.
pub(crate) type Bucket = [u64; SLOTS];

/// The size of a table and what its slots know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buckets {
    bits: u32,
    place_bits: u32,
    /// How many bits of the hash below the home bucket's the slots know.
    known: u32,
    /// Covers the distance and the known bits in a slot.
    pub tag_mask: u64,
    pub place_mask: u64,
}

/// What a slot holds, on its way into another table.
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

    /// Twice as many.
    pub fn twice(&self) -> Buckets {
        match self.known - 1 {
            known if known >= LEAST_KNOWN => Self::that_know(self.bits + 1, self.place_bits, known),
            _ => Self::new(self.bits + 1, self.place_bits),
        }
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

    #[inline(always)]
    pub fn home(&self, hash: u64) -> u64 {
        hash >> (64 - self.bits)
    }

    /// The known bits of the hash below those of the home bucket, where a slot has them.
    #[inline(always)]
    pub fn tag(&self, hash: u64) -> u64 {
        (hash << self.bits) >> DISTANCE_BITS & self.tag_mask
    }

    /// What a slot at `distance` from home holds beside the place.
    #[inline(always)]
    pub fn filled(tag: u64, distance: u64) -> u64 {
        tag | distance << (64 - DISTANCE_BITS)
    }

    /// The slot of its bucket at which the search for a tag begins: bits every table knows of the hash.
    #[inline(always)]
    pub fn first_slot(tag: u64) -> usize {
        (tag >> (64 - DISTANCE_BITS - 4)) as usize % SLOTS
    }

    /// The stride of the probe sequence, from bits every table knows of the hash.
    #[inline(always)]
    fn stride(tag: u64) -> u64 {
        tag >> (64 - DISTANCE_BITS - 8) | 1
    }

    /// The bucket at `distance` from home. The second lies beside the first, in the pair of lines memory fetches together.
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
        // Which of the first two it is nobody can predict.
        if distance < 2 {
            return bucket as u64 ^ distance;
        }
        let mask = (1u64 << self.bits) - 1;
        (bucket as u64).wrapping_sub((distance - 1).wrapping_mul(Self::stride(tag))) & mask
    }

    /// What a slot of `bucket` holds, on its way into `twice` as many buckets.
    #[inline(always)]
    fn moving(&self, twice: &Buckets, bucket: usize, slot: u64, rehash: impl Fn(u64) -> u64) -> Moving {
        let place = slot & self.place_mask;
        if twice.known >= self.known {
            return twice.moving_from(rehash(place), place);
        }
        let tag = slot & self.tag_mask & (!0 >> DISTANCE_BITS);
        let home = self.home_of(bucket, tag, slot >> (64 - DISTANCE_BITS));
        // The highest bit of the tag becomes the lowest of the home.
        let longer = tag << (DISTANCE_BITS + 1) >> DISTANCE_BITS;
        Moving { home: home << 1 | tag >> (63 - DISTANCE_BITS), tag: longer & twice.tag_mask, place }
    }

    /// A thing of which all of the hash is known, on its way into these buckets.
    pub fn moving_from(&self, hash: u64, place: u64) -> Moving {
        Moving { home: self.home(hash), tag: self.tag(hash), place }
    }

    /// The four buckets that number `pair` of the pairs here, which holds these slots, becomes among `twice` as many buckets; what does not
    /// belong there, or finds no room, is shown to `stray`.
    #[inline(always)]
    pub fn spread(
        &self,
        twice: &Buckets,
        pair: usize,
        slots: [Bucket; 2],
        rehash: impl Fn(u64) -> u64,
        mut stray: impl FnMut(Moving),
    ) -> [Bucket; 4] {
        let mut four = Four::default();
        for (side, bucket) in slots.into_iter().enumerate() {
            // Which slots are filled is chance, so a branch for each would often be taken wrongly.
            let mut filled = bucket.iter().enumerate().fold(0u32, |set, (index, &slot)| set | u32::from(slot != 0) << index);
            while filled != 0 {
                let slot = bucket[filled.trailing_zeros() as usize];
                filled &= filled - 1;
                let moving = self.moving(twice, 2 * pair + side, slot, &rehash);
                let home = moving.home.wrapping_sub(4 * pair as u64);
                if home >= 4 || !(four.settle(home as usize, moving, 0) || four.settle(home as usize ^ 1, moving, 1)) {
                    stray(moving);
                }
            }
        }
        four.buckets
    }
}

/// Buckets being filled.
#[derive(Default)]
struct Four {
    buckets: [Bucket; 4],
    /// The filled slots of each, as bits.
    filled: [u32; 4],
}

impl Four {
    /// Puts what moves into a bucket at `distance` from its home; `false` if there is no room.
    #[inline(always)]
    fn settle(&mut self, bucket: usize, Moving { tag, place, .. }: Moving, distance: u64) -> bool {
        let first = Buckets::first_slot(tag);
        let filled = self.filled[bucket];
        // As seen from the first slot.
        let turned = filled >> first | filled << (SLOTS - first);
        let ahead = turned.trailing_ones() as usize;
        if ahead >= SLOTS {
            return false;
        }
        let index = (first + ahead) % SLOTS;
        self.filled[bucket] = filled | 1 << index;
        self.buckets[bucket][index] = Buckets::filled(tag, distance) | place;
        true
    }
}
