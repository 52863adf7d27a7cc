//! Slots of one kind, each free or taken. One bit per slot says which are taken, so that a collection of pairs costs no
//! more than looking at the bits.

/// The content of an arena's slot.
pub trait Slot: Default {
    /// Memory that the content takes besides its slot.
    fn outside(&self) -> usize {
        0
    }

    /// Whether a dead slot owns memory that should be freed immediately.
    const OWNS: bool = true;
}

/// Slots of one kind.
#[derive(Debug, Default)]
pub struct Arena<T> {
    slots: Vec<T>,
    /// One bit for each slot: whether it is taken.
    taken: Vec<u64>,
    /// The word of `taken` in which the search for a free slot continues.
    cursor: usize,
    /// One bit for each slot: whether the current collection has marked it.
    marks: Vec<u64>,
}

impl<T: Slot> Arena<T> {
    /// Puts something into a free slot.
    #[inline]
    pub fn insert(&mut self, item: T) -> u32 {
        while let Some(word) = self.taken.get_mut(self.cursor) {
            if *word != u64::MAX {
                let bit = (!*word).trailing_zeros();
                let index = self.cursor * 64 + bit as usize;
                *word |= 1 << bit;
                match self.slots.get_mut(index) {
                    Some(slot) => *slot = item,
                    None => self.slots.push(item),
                }
                return index as u32;
            }
            self.cursor += 1;
        }
        self.taken.push(1);
        self.cursor = self.taken.len() - 1;
        self.slots.push(item);
        (self.slots.len() - 1) as u32
    }

    #[inline]
    pub fn get(&self, index: u32) -> &T {
        &self.slots[index as usize]
    }

    #[inline]
    pub fn get_mut(&mut self, index: u32) -> &mut T {
        &mut self.slots[index as usize]
    }

    /// How many slots there are, free or taken.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Prepares a collection.
    pub fn begin(&mut self) {
        self.marks.clear();
        self.marks.resize(self.taken.len(), 0);
    }

    /// Marks a slot; returns whether it was not marked before.
    #[inline]
    pub fn mark(&mut self, index: u32) -> bool {
        let word = &mut self.marks[index as usize / 64];
        let bit = 1 << (index % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    /// Frees what is not marked and returns how many bytes the rest takes.
    pub fn sweep(&mut self, mut dead: impl FnMut(T)) -> usize {
        let mut bytes = 0;
        for (word, (taken, marks)) in self.taken.iter_mut().zip(&self.marks).enumerate() {
            if T::OWNS {
                each_bit(*taken & !marks, |bit| {
                    dead(std::mem::take(&mut self.slots[word * 64 + bit]))
                });
                each_bit(*marks, |bit| bytes += self.slots[word * 64 + bit].outside());
            }
            bytes += marks.count_ones() as usize * size_of::<T>();
            *taken = *marks;
        }
        self.cursor = 0;
        bytes
    }
}

fn each_bit(mut word: u64, mut visit: impl FnMut(usize)) {
    while word != 0 {
        visit(word.trailing_zeros() as usize);
        word &= word - 1;
    }
}
