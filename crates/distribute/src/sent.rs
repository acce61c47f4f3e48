//! The states that were sent recently, so that they are not sent again (sibling caching of Lerda
//! and Visser, 2001). A slot holds one state, and a new one replaces the old. The states themselves
//! are compared, not only their hashes, so no state is left out by mistake.

/// Slots for sent states.
pub(crate) struct Sent {
    places: Vec<Vec<u8>>,
    bytes: u64,
}

impl Sent {
    pub fn new(places: usize) -> Sent {
        let places = if places == 0 { 0 } else { places.next_power_of_two() };
        Sent { places: vec![Vec::new(); places], bytes: places as u64 * 24 }
    }

    /// Whether a state was sent recently; it is recorded as sent.
    #[inline]
    pub fn holds(&mut self, state: &[u8]) -> bool {
        if self.places.is_empty() {
            return false;
        }
        let mask = self.places.len() as u64 - 1;
        let place = &mut self.places[(store::hash_seeded(state, 0x73656e74) & mask) as usize];
        if !state.is_empty() && place == state {
            return true;
        }
        let before = place.capacity();
        place.clear();
        place.extend_from_slice(state);
        self.bytes += (place.capacity() - before) as u64;
        false
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
