//! Where a table of buckets keeps what: from a hash to a bucket and a tag, and back.
//!
//! The home bucket is given by the top bits of the hash, and a slot holds the bits that follow, and
//! its distance from home. So the hash a larger table needs is read off the slot. Each doubling
//! uses up one of the bits a slot knows; when few are left, they are renewed by hashing the things
//! themselves, which happens about once in ten doublings.
//!
//! What is at home in a pair of buckets, or in the other bucket of its pair, belongs into two pairs
//! of the table of twice the size, side by side: a table is moved pair by pair, with memory read
//! and written in order. The few things that are farther from home come last.

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

/// From a hash to its home bucket and its tag: the known bits below those of the home bucket, where
/// a slot has them.
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

    /// Eight times as many, which know as much of each hash as they can.
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

    /// How the home bucket and the tag follow from a hash.
    #[inline(always)]
    pub fn home_and_tag(&self) -> HomeAndTag {
        // The bits of the home bucket arrive below the tag's: no table knows more bits of a hash
        // than there are.
        debug_assert!(self.bits + self.known <= 64);
        HomeAndTag { bits: self.bits, home_mask: (1 << self.bits) - 1, tag_mask: self.tag_mask }
    }

    /// What a slot at `distance` from home holds beside the place.
    #[inline(always)]
    pub fn filled(tag: u64, distance: u64) -> u64 {
        tag | distance << (64 - DISTANCE_BITS)
    }

    /// The slot of its bucket at which the search for a tag begins: bits every table knows of the
    /// hash.
    #[inline(always)]
    pub fn first_slot(tag: u64) -> usize {
        (tag >> (64 - DISTANCE_BITS - 4)) as usize % SLOTS
    }

    /// The stride of the probe sequence, from bits every table knows of the hash.
    #[inline(always)]
    fn stride(tag: u64) -> u64 {
        tag >> (64 - DISTANCE_BITS - 8) | 1
    }

    /// The bucket at `distance` from home. The second lies beside the first, in the pair of lines
    /// memory fetches together.
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
        let (home, tag) = self.home_and_tag().of(hash);
        Moving { home, tag, place }
    }

    /// Moves what number `pair` of the pairs here holds, in these slots, to the four buckets that
    /// it becomes among `twice` as many, all of them empty: `put` fills a slot of one of the four.
    /// What does not belong there, or finds no room, is shown to `stray`.
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
            // Which slots are filled is chance, so a branch for each would often be taken wrongly.
            let mut filled = bucket.iter().enumerate().fold(0u32, |set, (index, &slot)| set | u32::from(slot != 0) << index);
            while filled != 0 {
                let slot = bucket[filled.trailing_zeros() as usize];
                filled &= filled - 1;
                let distance = slot >> (64 - DISTANCE_BITS);
                if distance < 2 && twice.known < self.known {
                    // What nearly all do: the pair is right, and the next bit of the tag chooses
                    // one of two neighbours.
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
    /// The filled slots of each, as bits, twice over: so they can be seen from any slot on.
    filled: [u32; 4],
}

impl<P: FnMut(usize, usize, u64)> Four<P> {
    /// Puts what moves into one of the four buckets; `filled` is its tag with the distance. `false`
    /// if there is no room.
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
