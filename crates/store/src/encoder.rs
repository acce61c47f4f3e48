//! Encodes states as keys for one worker, incrementally from the last state.
//!
//! Successors of one state differ from it, and therefore from each other, in a few bytes. The
//! encoder remembers the last state's pieces and numbers. Only pieces that differ are looked up,
//! and only the paths above them are renumbered.

use crate::dictionary::{Id, Index};
use crate::shape::{KeyLayout, Kind, LEAF_BYTES, Top};
use crate::sync::Arc;
use contract::StoreFull;

/// Why a state has no key in the current layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoKey {
    /// A number does not fit, or the state is too long: a new layout is needed.
    Misfit,
    /// A dictionary cannot grow, because the budget is used up.
    Full(StoreFull),
}

#[derive(Debug)]
pub(crate) struct Encoder {
    pub layout: Arc<KeyLayout>,
    leaves: Vec<Leaf>,
    length: Piece,
    pairs: Vec<Pair>,
    /// The state followed by zeros, for states shorter than the longest.
    buffer: Vec<u8>,
    key: u64,
    /// No state is remembered.
    blank: bool,
}

#[derive(Debug)]
struct Leaf {
    /// The word of the state that contains the leaf, and the position in it.
    load: usize,
    shift: u32,
    mask: u64,
    piece: Piece,
}

#[derive(Debug)]
struct Pair {
    left: Child,
    right: Child,
    /// One of the two children has changed.
    stale: bool,
    piece: Piece,
}

/// Where a pair finds the number of its child.
#[derive(Clone, Copy, Debug)]
enum Child {
    Leaf(usize),
    Pair(usize),
}

/// What is remembered about a node: the current content and the previous one, because successors
/// often alternate with their source.
#[derive(Debug)]
struct Piece {
    now: Numbered,
    before: Numbered,
    node: usize,
    /// Its position in the key, if it is a top. Numbers from `limit` on do not fit.
    shift: u32,
    mask: u64,
    limit: u64,
    /// The pair above it.
    parent: Option<usize>,
    index: Arc<Index>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Numbered {
    value: u64,
    /// The number shifted to its position in the key; 0 for a node below a pair.
    part: u64,
    id: Id,
}

impl Piece {
    fn new(node: usize, layout: &KeyLayout) -> Piece {
        let top = layout.tops.iter().find(|top| top.node == node);
        Piece {
            now: Numbered::default(),
            before: Numbered::default(),
            node,
            shift: top.map_or(0, |top| top.shift),
            mask: top.map_or(0, |_| u64::MAX),
            limit: top.map_or(u64::MAX, |top| 1 << top.width),
            parent: None,
            index: layout.nodes[node].dictionary.index(),
        }
    }

    /// Changes the content to `value`, which differs from the current one; returns the change of
    /// the key.
    #[inline(always)]
    fn change(&mut self, value: u64, layout: &KeyLayout) -> Result<u64, NoKey> {
        if value == self.before.value {
            std::mem::swap(&mut self.now, &mut self.before);
        } else {
            let id = match self.index.find(value) {
                Some(id) if u64::from(id) < self.limit => id,
                _ => self.add(value, layout)?,
            };
            self.before = self.now;
            self.now = self.numbered(value, id);
        }
        Ok(self.now.part ^ self.before.part)
    }

    /// Sets the content to `value` without a previous content; returns its part of the key.
    fn renew(&mut self, value: u64, layout: &KeyLayout) -> Result<u64, NoKey> {
        let id = self.add(value, layout)?;
        self.now = self.numbered(value, id);
        self.before = self.now;
        Ok(self.now.part)
    }

    #[inline(always)]
    fn numbered(&self, value: u64, id: Id) -> Numbered {
        Numbered { value, part: u64::from(id) << self.shift & self.mask, id }
    }

    /// The number of a value; a new value gets one.
    #[inline(never)]
    fn add(&mut self, value: u64, layout: &KeyLayout) -> Result<Id, NoKey> {
        let id = match self.index.find(value) {
            Some(id) => id,
            None => layout.nodes[self.node].dictionary.add(&mut self.index, value).map_err(NoKey::Full)?,
        };
        if u64::from(id) < self.limit { Ok(id) } else { Err(NoKey::Misfit) }
    }
}

impl Encoder {
    pub fn new(layout: Arc<KeyLayout>) -> Encoder {
        let mut leaves: Vec<Leaf> = Vec::new();
        let mut pairs: Vec<Pair> = Vec::new();
        let mut length = Piece::new(0, &layout);
        let mut places = Vec::with_capacity(layout.nodes.len());
        for (node, kind) in layout.nodes.iter().map(|node| node.kind).enumerate() {
            let piece = Piece::new(node, &layout);
            match kind {
                Kind::Length => {
                    length = piece;
                    // The length is a top and has no pair above it.
                    places.push(Child::Leaf(usize::MAX));
                }
                Kind::Leaf { offset, len } => {
                    let load = offset.min(layout.capacity - LEAF_BYTES);
                    let mask = u64::MAX >> (64 - 8 * len as u32);
                    places.push(Child::Leaf(leaves.len()));
                    leaves.push(Leaf { load, shift: 8 * (offset - load) as u32, mask, piece });
                }
                Kind::Pair(left, right) => {
                    for child in [left, right] {
                        match places[child] {
                            Child::Leaf(leaf) => leaves[leaf].piece.parent = Some(pairs.len()),
                            Child::Pair(pair) => pairs[pair].piece.parent = Some(pairs.len()),
                        }
                    }
                    places.push(Child::Pair(pairs.len()));
                    pairs.push(Pair { left: places[left], right: places[right], stale: false, piece });
                }
            }
        }
        let buffer = vec![0; layout.capacity];
        Encoder { layout, leaves, length, pairs, buffer, key: 0, blank: true }
    }

    /// The key of `state`.
    #[inline]
    pub fn encode(&mut self, state: &[u8]) -> Result<u64, NoKey> {
        if state.len() == self.buffer.len() && !self.blank {
            match self.changes(state, state.len()) {
                Ok(key) => return Ok(key),
                Err(no_key) => {
                    // Some pieces have been updated and others have not, so the remembered state is
                    // unusable.
                    self.blank = true;
                    return Err(no_key);
                }
            }
        }
        self.encode_slowly(state)
    }

    #[inline(never)]
    fn encode_slowly(&mut self, state: &[u8]) -> Result<u64, NoKey> {
        if state.len() > self.buffer.len() {
            return Err(NoKey::Misfit);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer[..state.len()].copy_from_slice(state);
        buffer[state.len()..].fill(0);
        let key = if self.blank { self.renew(&buffer, state.len()) } else { self.changes(&buffer, state.len()) };
        self.buffer = buffer;
        self.blank = key.is_err();
        key
    }

    /// The content of `leaf` in a state of full length.
    #[inline(always)]
    fn content(leaf: &Leaf, state: &[u8]) -> u64 {
        // SAFETY: leaves were cut so that `load + 8` is at most the capacity, and callers pass
        // states of that length.
        let word = u64::from_le(unsafe { state.as_ptr().add(leaf.load).cast::<u64>().read_unaligned() });
        word >> leaf.shift & leaf.mask
    }

    fn child(leaves: &[Leaf], pairs: &[Pair], child: Child) -> u64 {
        let piece = match child {
            Child::Leaf(leaf) => &leaves[leaf].piece,
            Child::Pair(pair) => &pairs[pair].piece,
        };
        piece.now.id.into()
    }

    /// The key of a state of `len` bytes, padded to the longest, computed from the pieces that
    /// changed.
    #[inline]
    fn changes(&mut self, state: &[u8], len: usize) -> Result<u64, NoKey> {
        assert_eq!(state.len(), self.layout.capacity);
        let Encoder { leaves, pairs, layout, .. } = self;
        let mut key = self.key;
        for leaf in leaves.iter_mut() {
            let value = Self::content(leaf, state);
            if value != leaf.piece.now.value {
                key ^= leaf.piece.change(value, layout)?;
                if let Some(parent) = leaf.piece.parent {
                    pairs[parent].stale = true;
                }
            }
        }
        if len as u64 != self.length.now.value {
            key ^= self.length.change(len as u64, layout)?;
        }
        for position in 0..pairs.len() {
            if std::mem::replace(&mut pairs[position].stale, false) {
                let (left, right) = (pairs[position].left, pairs[position].right);
                let value = Self::child(leaves, pairs, left) << 32 | Self::child(leaves, pairs, right);
                let pair = &mut pairs[position];
                if value != pair.piece.now.value {
                    key ^= pair.piece.change(value, layout)?;
                    if let Some(parent) = pair.piece.parent {
                        pairs[parent].stale = true;
                    }
                }
            }
        }
        self.key = key;
        Ok(key)
    }

    /// Like `changes`, without a remembered state. All pieces get numbers, even if some do not fit.
    fn renew(&mut self, state: &[u8], len: usize) -> Result<u64, NoKey> {
        let Encoder { leaves, pairs, layout, .. } = self;
        let mut key = Ok(0);
        let mut add = |part: Result<u64, NoKey>| key = key.and_then(|key| part.map(|part| key | part));
        for leaf in leaves.iter_mut() {
            let value = Self::content(leaf, state);
            add(leaf.piece.renew(value, layout));
        }
        add(self.length.renew(len as u64, layout));
        for position in 0..pairs.len() {
            let (left, right) = (pairs[position].left, pairs[position].right);
            let value = Self::child(leaves, pairs, left) << 32 | Self::child(leaves, pairs, right);
            let pair = &mut pairs[position];
            pair.stale = false;
            add(pair.piece.renew(value, layout));
        }
        self.key = key?;
        key
    }

    /// Numbers the pieces of `state`, whether they fit or not.
    pub fn fill(&mut self, state: &[u8]) -> Result<(), StoreFull> {
        match self.encode(state) {
            Err(NoKey::Full(full)) => Err(full),
            _ => Ok(()),
        }
    }
}

/// Translates keys of an older layout to keys of a newer one.
#[derive(Debug)]
pub(crate) struct Translator {
    /// The tops that both layouts have: the number moves from one position to the other.
    kept: Vec<(Top, Top)>,
    /// The tops of the older layout that are below a pair in the newer one.
    joined: Vec<Top>,
    /// The new pairs, children first.
    pairs: Vec<NewPair>,
    to: Arc<KeyLayout>,
    ids: Vec<Id>,
}

#[derive(Debug)]
struct NewPair {
    node: usize,
    left: usize,
    right: usize,
    /// Its position in the key, if it is a top.
    top: Option<Top>,
    last: Option<(u64, Id)>,
    index: Arc<Index>,
}

impl Translator {
    pub fn new(from: &KeyLayout, to: Arc<KeyLayout>) -> Translator {
        let place = |layout: &KeyLayout, node: usize| layout.tops.iter().find(|top| top.node == node).copied();
        let (mut kept, mut joined) = (Vec::new(), Vec::new());
        for &top in &from.tops {
            match place(&to, top.node) {
                // A top without bits always has number 0.
                Some(_) if top.width == 0 => {}
                Some(new) => kept.push((top, new)),
                None => joined.push(top),
            }
        }
        let new_pairs = (from.nodes.len()..to.nodes.len()).filter_map(|node| match to.nodes[node].kind {
            Kind::Pair(left, right) => {
                Some(NewPair { node, left, right, top: place(&to, node), last: None, index: to.nodes[node].dictionary.index() })
            }
            // New leaves have number 0 in all older states.
            _ => None,
        });
        let (pairs, ids) = (new_pairs.collect(), vec![0; to.nodes.len()]);
        Translator { kept, joined, pairs, to, ids }
    }

    pub fn translate(&mut self, key: u64) -> Result<u64, NoKey> {
        let (mut new, mut beyond) = (0, 0);
        for (from, to) in &self.kept {
            let id = u64::from(from.of(key));
            beyond |= id >> to.width;
            new |= id << to.shift;
        }
        for top in &self.joined {
            self.ids[top.node] = top.of(key);
        }
        for NewPair { node, left, right, top, last, index } in &mut self.pairs {
            let value = u64::from(self.ids[*left]) << 32 | u64::from(self.ids[*right]);
            let id = match *last {
                Some((before, id)) if before == value => id,
                _ => match index.find(value) {
                    Some(id) => id,
                    None => self.to.nodes[*node].dictionary.add(index, value).map_err(NoKey::Full)?,
                },
            };
            *last = Some((value, id));
            self.ids[*node] = id;
            if let Some(top) = top {
                beyond |= u64::from(id) >> top.width;
                new |= u64::from(id) << top.shift;
            }
        }
        if beyond == 0 { Ok(new) } else { Err(NoKey::Misfit) }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::budget::Budget;
    use crate::shape::Decoder;
    use contract::testing::Random;
    use std::collections::HashMap;

    fn states(seed: u64, count: usize, len: usize, values: u64) -> Vec<Vec<u8>> {
        let mut random = Random(seed);
        let mut state = vec![0u8; len];
        (0..count)
            .map(|_| {
                let at = random.below(len as u64) as usize;
                state[at] = random.below(values) as u8;
                let short = random.below(3) as usize;
                state[..len - short].to_vec()
            })
            .collect()
    }

    #[test]
    fn keys_are_unique_and_can_be_read_in_every_generation() {
        let budget = Arc::new(Budget::new(u64::MAX));
        for (len, values) in [(4, 200), (20, 4), (90, 3), (300, 2)] {
            let states = states(len as u64, 20_000, len, values);
            let mut layout = Arc::new(KeyLayout::first(&states[..2000], 2000, &budget).unwrap());
            let mut encoder = Encoder::new(layout.clone());
            let mut names: HashMap<(u8, u64), Vec<u8>> = HashMap::new();
            let mut present: HashMap<u64, Vec<u8>> = HashMap::new();
            let mut layouts = HashMap::from([(layout.generation, layout.clone())]);
            for state in &states {
                let key = loop {
                    match encoder.encode(state) {
                        Ok(key) => break key,
                        Err(NoKey::Full(full)) => panic!("{full}"),
                        Err(NoKey::Misfit) => {
                            let sample: Vec<u64> = present.keys().copied().take(500).collect();
                            let next = layout.next(state.len(), &sample, 2 * present.len() as u64 + 2, &budget).unwrap();
                            let next = Arc::new(next);
                            let mut translator = Translator::new(&layout, next.clone());
                            present = present.drain().map(|(key, state)| (translator.translate(key).unwrap(), state)).collect();
                            layouts.insert(next.generation, next.clone());
                            layout = next.clone();
                            encoder = Encoder::new(next);
                        }
                    }
                };
                assert!(key >> layout.key_bits == 0);
                assert_eq!(present.entry(key).or_insert_with(|| state.clone()), state, "two states, one key");
                names.insert((layout.generation, key), state.clone());
            }
            assert_eq!(present.len(), states.iter().collect::<std::collections::HashSet<_>>().len());
            let all = layouts.clone();
            let mut decoders: HashMap<u8, Decoder> =
                layouts.into_iter().map(|(generation, layout)| (generation, Decoder::new(layout))).collect();
            for ((generation, key), state) in &names {
                let decoder = decoders.get_mut(generation).unwrap();
                assert_eq!(decoder.decode(all[generation].scramble.on(*key)), state);
            }
        }
    }
}
