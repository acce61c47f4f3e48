//! One worker's way from states to keys, by what has changed since the last state.
//!
//! Successors of one state differ from it, and so from each other, in a few bytes. The encoder remembers the last state's pieces and
//! numbers; only pieces that differ are looked up, and only the paths above them are renumbered.

use crate::dictionary::{Id, Index};
use crate::shape::{Kind, LEAF_BYTES, Layout, Top};
use crate::sync::Arc;
use contract::StoreFull;

/// Why a state has no key in the present layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoKey {
    /// A number does not fit, or the state is too long: a new layout is needed.
    Misfit,
    /// A dictionary may not grow.
    Full(StoreFull),
}

#[derive(Debug)]
pub(crate) struct Encoder {
    pub layout: Arc<Layout>,
    leaves: Vec<Leaf>,
    pairs: Vec<Pair>,
    nodes: Vec<Last>,
    /// For states shorter than the longest: the state, followed by zeros.
    buffer: Vec<u8>,
    /// The node of the length, and the last length.
    length: (usize, usize),
    key: u64,
    /// Tops whose number does not fit.
    misfits: u32,
    /// Nothing is remembered.
    blank: bool,
}

#[derive(Clone, Copy, Debug)]
struct Leaf {
    node: usize,
    /// Which word of the state contains it, and where.
    load: usize,
    shift: u32,
    mask: u64,
    /// The last content.
    value: u64,
}

#[derive(Clone, Copy, Debug)]
struct Pair {
    node: usize,
    left: usize,
    right: usize,
}

/// What is remembered of a node: the last value and the one before, since successors often differ from their source in turn.
#[derive(Debug)]
struct Last {
    value: u64,
    id: Id,
    /// The number in its place in the key; 0 for nodes below a pair.
    part: u64,
    /// Numbers from here on do not fit into the key.
    limit: u64,
    shift: u32,
    /// One of its children has changed.
    stale: bool,
    is_top: bool,
    misfit: bool,
    before: (u64, Id),
    parent: Option<usize>,
    index: Arc<Index>,
}

impl Encoder {
    pub fn new(layout: Arc<Layout>) -> Encoder {
        let mut leaves = Vec::new();
        let mut pairs = Vec::new();
        let mut nodes: Vec<Last> = layout
            .nodes
            .iter()
            .map(|node| Last {
                value: 0,
                id: 0,
                part: 0,
                limit: u64::MAX,
                shift: 0,
                stale: false,
                is_top: false,
                misfit: false,
                before: (0, 0),
                parent: None,
                index: node.dictionary.index(),
            })
            .collect();
        let mut length = 0;
        for (node, kind) in layout.nodes.iter().map(|node| node.kind).enumerate() {
            match kind {
                Kind::Length => length = node,
                Kind::Leaf { offset, len } => {
                    let load = offset.min(layout.capacity - LEAF_BYTES);
                    let mask = u64::MAX >> (64 - 8 * len as u32);
                    leaves.push(Leaf { node, load, shift: 8 * (offset - load) as u32, mask, value: 0 });
                }
                Kind::Pair(left, right) => {
                    nodes[left].parent = Some(node);
                    nodes[right].parent = Some(node);
                    pairs.push(Pair { node, left, right });
                }
            }
        }
        for top in &layout.tops {
            let last = &mut nodes[top.node];
            (last.is_top, last.shift, last.limit) = (true, top.shift, 1 << top.width);
        }
        let buffer = vec![0; layout.capacity];
        Encoder { layout, leaves, pairs, nodes, buffer, length: (length, 0), key: 0, misfits: 0, blank: true }
    }

    /// The key of `state`.
    #[inline]
    pub fn encode(&mut self, state: &[u8]) -> Result<u64, NoKey> {
        if state.len() == self.buffer.len() {
            self.look_up(state, state.len())?;
        } else {
            self.look_up_short(state)?;
        }
        if self.misfits == 0 { Ok(self.key) } else { Err(NoKey::Misfit) }
    }

    /// Numbers the pieces of `state` without caring whether they fit.
    pub fn fill(&mut self, state: &[u8]) -> Result<(), StoreFull> {
        match self.encode(state) {
            Err(NoKey::Full(full)) => Err(full),
            _ => Ok(()),
        }
    }

    fn look_up_short(&mut self, state: &[u8]) -> Result<(), NoKey> {
        if state.len() > self.buffer.len() {
            return Err(NoKey::Misfit);
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer[..state.len()].copy_from_slice(state);
        buffer[state.len()..].fill(0);
        let done = self.look_up(&buffer, state.len());
        self.buffer = buffer;
        done
    }

    /// Numbers the pieces of a state of `len` bytes, padded to the longest.
    #[inline]
    fn look_up(&mut self, state: &[u8], len: usize) -> Result<(), NoKey> {
        assert_eq!(state.len(), self.layout.capacity);
        // Until all is done, nothing is certain: an error on the way leaves a blank encoder.
        let blank = std::mem::replace(&mut self.blank, true);
        let Encoder { leaves, nodes, layout, key, misfits, .. } = self;
        let mut work = Work { layout, nodes, key: *key, misfits: *misfits, blank };
        let mut done = Ok(());
        for leaf in leaves.iter_mut() {
            // SAFETY: leaves were cut so that `load + 8` is at most the capacity, which is the length of `state`.
            let word = u64::from_le(unsafe { state.as_ptr().add(leaf.load).cast::<u64>().read_unaligned() });
            let value = word >> leaf.shift & leaf.mask;
            if value != leaf.value || blank {
                leaf.value = value;
                done = done.and(work.number(leaf.node, value));
            }
        }
        if len != self.length.1 || blank {
            self.length.1 = len;
            done = done.and(work.number(self.length.0, len as u64));
        }
        for pair in &self.pairs {
            if work.nodes[pair.node].stale || blank {
                work.nodes[pair.node].stale = false;
                let value = u64::from(work.nodes[pair.left].id) << 32 | u64::from(work.nodes[pair.right].id);
                done = done.and(work.number(pair.node, value));
            }
        }
        (*key, *misfits) = (work.key, work.misfits);
        self.blank = done.is_err();
        done
    }
}

/// What changes while pieces are numbered.
struct Work<'a> {
    layout: &'a Layout,
    nodes: &'a mut [Last],
    key: u64,
    misfits: u32,
    blank: bool,
}

impl Work<'_> {
    /// The value of `node` is now `value`: finds its number and puts it into the key, or tells the pair above.
    #[inline]
    fn number(&mut self, node: usize, value: u64) -> Result<(), NoKey> {
        let last = &mut self.nodes[node];
        let id = if last.before.0 == value && !self.blank {
            last.before.1
        } else {
            match last.index.find(value) {
                Some(id) => id,
                None => self.layout.nodes[node].dictionary.add(&mut last.index, value).map_err(NoKey::Full)?,
            }
        };
        last.before = if self.blank { (value, id) } else { (last.value, last.id) };
        (last.value, last.id) = (value, id);
        if last.is_top {
            // A number that does not fit is not in the key, and counted instead.
            let fits = u64::from(id) < last.limit;
            let part = if fits { u64::from(id) << last.shift } else { 0 };
            self.misfits = self.misfits + u32::from(!fits) - u32::from(last.misfit);
            self.key ^= last.part ^ part;
            (last.part, last.misfit) = (part, !fits);
        } else if let Some(parent) = last.parent {
            self.nodes[parent].stale = true;
        }
        Ok(())
    }
}

/// From keys of an older layout to keys of a newer one.
#[derive(Debug)]
pub(crate) struct Translator {
    /// Tops of both layouts: the same number goes from one place to the other.
    kept: Vec<(Top, Top)>,
    /// Tops of the older one that are below a pair now.
    joined: Vec<Top>,
    /// The pairs that are new, children first.
    pairs: Vec<NewPair>,
    to: Arc<Layout>,
    ids: Vec<Id>,
}

#[derive(Debug)]
struct NewPair {
    pair: Pair,
    /// Its place in the key, if it is a top.
    top: Option<Top>,
    last: Option<(u64, Id)>,
    index: Arc<Index>,
}

impl Translator {
    pub fn new(from: &Layout, to: Arc<Layout>) -> Translator {
        let place = |layout: &Layout, node: usize| layout.tops.iter().find(|top| top.node == node).copied();
        let (mut kept, mut joined) = (Vec::new(), Vec::new());
        for &top in &from.tops {
            match place(&to, top.node) {
                // What has no bits is always number 0.
                Some(_) if top.width == 0 => {}
                Some(new) => kept.push((top, new)),
                None => joined.push(top),
            }
        }
        let new_pairs = (from.nodes.len()..to.nodes.len()).filter_map(|node| match to.nodes[node].kind {
            Kind::Pair(left, right) => Some(NewPair {
                pair: Pair { node, left, right },
                top: place(&to, node),
                last: None,
                index: to.nodes[node].dictionary.index(),
            }),
            // Leaves that are new have number 0 in all older states.
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
        for NewPair { pair, top, last, index } in &mut self.pairs {
            let value = u64::from(self.ids[pair.left]) << 32 | u64::from(self.ids[pair.right]);
            let id = match *last {
                Some((before, id)) if before == value => id,
                _ => match index.find(value) {
                    Some(id) => id,
                    None => self.to.nodes[pair.node].dictionary.add(index, value).map_err(NoKey::Full)?,
                },
            };
            *last = Some((value, id));
            self.ids[pair.node] = id;
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
            let mut layout = Arc::new(Layout::first(&states[..2000], 2000, &budget).unwrap());
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
            let mut decoders: HashMap<u8, Decoder> =
                layouts.into_iter().map(|(generation, layout)| (generation, Decoder::new(layout))).collect();
            for ((generation, key), state) in &names {
                let decoder = decoders.get_mut(generation).unwrap();
                assert_eq!(decoder.decode(*key), state);
            }
        }
    }
}
