//! Names of hooks that are almost right.

use becket_hooks::nearest;

/// The guard that was probably meant by an unknown hook name. `known` are all names, each with whether it is a guard's.
pub fn misspelt_guard<'a>(name: &str, known: impl IntoIterator<Item = (&'a str, bool)>) -> Option<&'a str> {
    let known: Vec<(&str, bool)> = known.into_iter().collect();
    let near = nearest(name, known.iter().map(|(name, _)| *name))?;
    known
        .into_iter()
        .find_map(|(name, guards)| (name == near && guards).then_some(name))
}
