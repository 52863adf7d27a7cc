//! Why a chore could not be done.

/// A description of what is wrong.
pub type Problem = String;
