//! Snapshots of real folders with the real git: what is kept, what comes back, and what is left alone.

mod killed;
mod kinds;
mod moves;
mod repositories;
mod room;
mod steps;
