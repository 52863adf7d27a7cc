//! Why a chore could not be done.

/// What is wrong, in words.
pub type Problem = String;
