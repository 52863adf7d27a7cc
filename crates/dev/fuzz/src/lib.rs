//! Fuzz targets for every reader of foreign text, on stable Rust.
//!
//! A target is a line of [`TARGETS`]: a name, and a function that makes an input of random bytes and gives it to a
//! reader, which must answer. `cargo test -p fuzz` runs each a few hundred times; `cargo xtask fuzz` runs each as long
//! as you want, in a process of its own, so that an abort is seen as well as a panic. A run is repeated by its seed.

mod nonsense;
mod targets;
mod text;

use std::time::{Duration, Instant};

use arbtest::arbitrary::{Result, Unstructured};

pub use targets::TARGETS;

/// A reader, and the function that makes its input.
#[derive(Clone, Copy)]
pub struct Target {
    pub name: &'static str,
    pub run: fn(&mut Unstructured<'_>) -> Result<()>,
}

/// The target with that name.
pub fn target(name: &str) -> Option<&'static Target> {
    TARGETS.iter().find(|target| target.name == name)
}

/// How long a reader may take for one input; longer is a hang. Inputs are short, but the machine may be busy.
pub const HANGS: Duration = Duration::from_secs(60);

/// The fewest and the most bytes that inputs are made of.
const BYTES: (u64, u64) = (32, 4096);

/// The seed of one of many runs.
pub fn seed(first: u64, round: u64) -> u64 {
    let mut mixed = first.wrapping_add(round.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let (least, most) = BYTES;
    // The lower half is the number of bytes, the upper half their source.
    (mixed >> 32 << 32) | (least + (mixed & 0xffff_ffff) % (most - least))
}

impl Target {
    /// Runs the target once; panics if the reader does, or if it takes too long.
    pub fn once(&self, seed: u64) {
        let begun = Instant::now();
        let run = self.run;
        arbtest::arbtest(run).seed(seed).run();
        let took = begun.elapsed();
        assert!(
            took < HANGS,
            "{} takes {took:?} for the seed {seed:#x}",
            self.name
        );
    }
}
