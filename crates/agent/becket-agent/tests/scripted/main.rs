//! The loop, driven through its four traits by scripts: a model that plays turns, tools that say what they did, a
//! store in memory, a user with prepared answers.

mod approval;
mod boundaries;
mod compaction;
mod endings;
mod handoff;
mod hooks;
mod ledger;
mod limits;
mod mail;
mod session_handle;
mod stage;
mod team;
mod tools;
