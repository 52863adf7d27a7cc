//! What a program may touch, enforced by the kernel.
//!
//! A [`Plan`] says it: which folders can be written, which paths inside them cannot, what cannot even be read, and
//! whether there is a network. The small program `becket-sandbox` takes a plan as its options, confines itself, and
//! becomes or starts the program that is named behind them, so that nobody else needs code between a fork and an exec.
//!
//! Three layers hold, each by itself: namespaces ([`mounts`], [`processes`]), Landlock ([`access_rules`]), and a filter
//! of system calls ([`system_calls`]). Where a user may not make namespaces, the other two remain, with the gaps that
//! [`Strength::LandlockOnly`] names. Where the kernel has no Landlock nothing is started.
//!
//! Reading order: `plan.rs`, `confinement.rs`, `launcher.rs`, then the layers; `proxy.rs` is the way out that a plan
//! may leave open. This crate knows nothing of becket: not its settings, not its tools, not where its files are.

#[cfg(target_os = "linux")]
mod access_rules;
mod confinement;
#[cfg(target_os = "linux")]
mod kernel;
#[cfg(target_os = "linux")]
pub mod launcher;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod place;
mod placeholders;
mod plan;
mod problem;
#[cfg(target_os = "linux")]
mod processes;
mod proxy;
#[cfg(target_os = "linux")]
mod system_calls;

pub use confinement::{Confinement, Support, is_for_the_loader};
pub use placeholders::{Placeholder, Placeholders};
pub use plan::{Access, Network, Plan, Strength};
pub use problem::Problem;
pub use proxy::handed_over;

/// The name of the small program.
pub const PROGRAM: &str = "becket-sandbox";

#[cfg(not(target_os = "linux"))]
pub mod launcher {
    //! The small program where there is nothing to confine with.

    use std::process::ExitCode;

    /// Starts nothing.
    #[expect(clippy::print_stderr, reason = "the program's only message")]
    pub fn main() -> ExitCode {
        eprintln!(
            "{}: this system cannot confine programs; nothing was started",
            crate::PROGRAM
        );
        ExitCode::from(126)
    }
}
