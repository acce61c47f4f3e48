//! The roles of the stores in memory: each has a budget and can be saved.

/// The methods of `Store` that return both roles.
macro_rules! budgeted_and_saveable {
    () => {
        fn budgeted(&self) -> Option<&dyn contract::Budgeted> {
            Some(self)
        }

        fn saveable(&self) -> Option<&dyn contract::Saveable> {
            Some(self)
        }

        fn saveable_mut(&mut self) -> Option<&mut dyn contract::Saveable> {
            Some(self)
        }
    };
}

pub(crate) use budgeted_and_saveable;
