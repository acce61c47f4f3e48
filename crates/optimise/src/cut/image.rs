//! The image of a state of the original program in the cut program.

use super::Kept;
use bytecode::{Addr, ChannelTypeId, ProcessId, Shape, Verified};
use std::sync::Arc;

/// How states of the original program become states of the cut one.
#[derive(Clone, Debug)]
pub(crate) struct Image {
    original: Arc<Verified>,
    cut: Arc<Verified>,
    kept: Kept,
}

impl Image {
    pub fn new(original: &Arc<Verified>, cut: &Arc<Verified>, kept: Kept) -> Image {
        Image { original: Arc::clone(original), cut: Arc::clone(cut), kept }
    }

    /// The image of a state; nothing if the bytes are not a state of the original program, or a
    /// state that the analysis takes for impossible.
    pub fn of(&self, state: &[u8]) -> Option<Vec<u8>> {
        let (old, new) = (self.original.layout(), self.cut.layout());
        let mut image = vec![0; new.fixed];
        for (from, to) in [(old.exclusive, new.exclusive), (old.last, new.last)] {
            if let (Some(from), Some(to)) = (from, to) {
                image[to] = *state.get(from)?;
            }
        }
        for (slot, left) in old.globals.iter().zip(&self.kept.globals) {
            if let Some(left) = left {
                let place = new.globals[left.index()].offset;
                image[place..place + slot.size()].copy_from_slice(state.get(slot.offset..slot.offset + slot.size())?);
            }
        }
        for (number, &(ty, offset)) in old.channels.iter().enumerate() {
            if !self.kept.channels.contains(&number) {
                let place = new.channels[number].1;
                let size = old.channel_types[ty.index()].size;
                let channel = self.channel(number, ty, state.get(offset..offset + size)?);
                image[place..place + channel.len()].copy_from_slice(&channel);
            }
        }
        let mut at = old.fixed;
        while at < state.len() {
            let shape = old.shape(state[at])?;
            let component = state.get(at..at + old.size_of(shape))?;
            image.push(new.shape_code(shape));
            match shape {
                Shape::Process(id) => image.extend(self.process(id, component)?),
                Shape::Channel(ty) => image.extend(self.channel(old.channels.len(), ty, &component[1..])),
            }
            at += component.len();
        }
        Some(image)
    }

    /// A process without its shape.
    fn process(&self, id: ProcessId, component: &[u8]) -> Option<Vec<u8>> {
        let (old, new) = (&self.original.layout().processes[id.index()], &self.cut.layout().processes[id.index()]);
        let mut image = vec![0; new.size];
        if !self.kept.still.contains(&id) {
            let address = self.original.locations().address(id, old.location(component))?;
            let moved: Addr = *self.kept.moved.get(address.index())?;
            new.set_location(&mut image, self.cut.locations().at(id, moved)?);
        }
        if let (Some(from), Some(to)) = (old.priority, new.priority) {
            image[to] = component[from];
        }
        for (number, (slot, left)) in old.locals.iter().zip(&self.kept.locals[id.index()]).enumerate() {
            let cleared = bytecode::LocalId::new(number).is_some_and(|local| self.kept.cleared.contains(&(id, local)));
            if let Some(left) = left.filter(|_| !cleared) {
                let place = new.locals[left.index()].offset;
                image[place..place + slot.size()].copy_from_slice(&component[slot.offset..slot.offset + slot.size()]);
            }
        }
        image.remove(0);
        Some(image)
    }

    /// A channel without its shape. `number` is its index among the static channels, or the number
    /// of these for other channels.
    fn channel(&self, number: usize, ty: ChannelTypeId, bytes: &[u8]) -> Vec<u8> {
        let (old, new) = (&self.original.layout().channel_types[ty.index()], &self.cut.layout().channel_types[ty.index()]);
        let mut image = vec![0; new.size];
        if old.capacity > 0 {
            image[0] = bytes[0];
        }
        if let (Some(from), Some(to)) = (old.claims, new.claims) {
            image[to..to + 2].copy_from_slice(&bytes[from..from + 2]);
        }
        image[new.messages..].copy_from_slice(&bytes[old.messages..]);
        for (_, slot) in old.fields.iter().enumerate().filter(|(field, _)| self.kept.fields.contains(&(number, *field as u8))) {
            for message in 0..old.capacity {
                let place = new.messages + message * old.message_size + slot.offset;
                image[place..place + slot.ty.width()].fill(0);
            }
        }
        image
    }
}
