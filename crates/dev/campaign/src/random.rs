//! Numbers that look random and are the same for the same seed.

/// A source of numbers.
pub struct Random(u64);

impl Random {
    /// The source for one round.
    pub fn new(seed: u64, name: &str, round: u64) -> Self {
        let mut random = Self(seed);
        for number in name.bytes().map(u64::from).chain([round]) {
            random.0 ^= number;
            random.next();
        }
        random
    }

    /// The next number (splitmix64).
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    /// One of these; there must be some.
    pub fn choose<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }

    /// Whether something happens that happens once in so many times.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_repeatable_and_none_is_like_another() {
        let first = |seed, name, round| Random::new(seed, name, round).next();
        assert_eq!(first(1, "kill", 7), first(1, "kill", 7));
        assert_ne!(first(1, "kill", 7), first(1, "kill", 8));
        assert_ne!(first(1, "kill", 7), first(1, "disk", 7));
        assert_ne!(first(1, "kill", 7), first(2, "kill", 7));
    }
}
