//! Events that are declared but that nothing in the agent can cause yet.
//!
//! Listings, the reference and the start of a run say so wherever such an event is named, and a test fails if one of
//! them fires. The list gets shorter with each part of the agent, and this file goes with its last line.

/// The events, and what each waits for.
pub const NOT_YET_FIRED: &[(&str, &str)] = &[
    ("pre_session_fork", "the session tree"),
    ("post_session_fork", "the session tree"),
    ("pre_session_tree", "the session tree"),
    ("post_session_tree", "the session tree"),
    ("user_shell", "commands of the person in the chat"),
    ("resources", "skills and prompt templates"),
];

/// What an event waits for, if nothing can cause it yet.
pub fn waits_for(event: &str) -> Option<&'static str> {
    NOT_YET_FIRED
        .iter()
        .find(|(name, _)| *name == event)
        .map(|(_, what)| *what)
}
