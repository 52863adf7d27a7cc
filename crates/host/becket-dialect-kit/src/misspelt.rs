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

/// Whether hooks of an unknown event were probably meant to refuse: its name says that something has not happened yet,
/// as the events of other systems do.
pub fn sounds_like_guard(name: &str) -> bool {
    let mut words = Vec::new();
    for character in name.chars() {
        match (
            character.is_alphanumeric(),
            character.is_uppercase(),
            words.last_mut(),
        ) {
            (false, ..) => words.push(String::new()),
            (true, true, _) | (true, _, None) => words.push(character.to_lowercase().collect::<String>()),
            (true, false, Some(word)) => word.push(character),
        }
    }
    let first = words.iter().find(|word| !word.is_empty());
    first.is_some_and(|first| ["pre", "before"].contains(&first.as_str()))
        || words.iter().any(|word| word == "permission")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_before_something_may_guard() {
        for name in [
            "PreTask",
            "beforeTask",
            "pre_task",
            "before-task",
            "permissionAsked",
            "PRETask",
        ] {
            assert_eq!(sounds_like_guard(name), name != "PRETask", "{name}");
        }
        for name in [
            "",
            "PostTask",
            "afterTask",
            "Prepare",
            "Stop",
            "presence",
            "taskBefore",
        ] {
            assert!(!sounds_like_guard(name), "{name}");
        }
    }
}
