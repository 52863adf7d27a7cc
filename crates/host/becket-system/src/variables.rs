//! `${NAME}` in texts of settings.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use crate::surroundings::Surroundings;

/// Variables that settings name. Their values may be secrets and are remembered as such.
pub struct Variables<'a> {
    surroundings: &'a Surroundings,
    named: RefCell<Vec<String>>,
}

impl<'a> Variables<'a> {
    /// The variables of this environment.
    pub fn of(surroundings: &'a Surroundings) -> Self {
        Self {
            surroundings,
            named: RefCell::default(),
        }
    }

    /// The values of the variables that may be secrets.
    pub fn named(self) -> Vec<String> {
        self.named.into_inner()
    }

    /// The text with `${NAME}` and `${env.NAME}` replaced by variables of the environment. `${PWD}` is the working
    /// directory, and `${NAME:-text}` is the text where the variable is not set or empty.
    pub fn expand(&self, text: &str) -> Result<String, String> {
        let mut rest = text;
        let mut whole = String::new();
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) = after.split_once('}').ok_or("a `${` has no `}` behind it")?;
            let name = name.strip_prefix("env.").unwrap_or(name);
            let (name, usual) = match name.split_once(":-") {
                Some((name, usual)) => (name, Some(usual)),
                None => (name, None),
            };
            whole.push_str(before);
            if name == "PWD" {
                whole.push_str(&self.surroundings.cwd.display().to_string());
            } else {
                let value = self.surroundings.variable(name);
                let is_usable = |value: &String| usual.is_none() || !value.is_empty();
                let value = value.filter(is_usable).or_else(|| usual.map(ToOwned::to_owned));
                let value = value.ok_or_else(|| format!("the variable {name} is not set"))?;
                whole.push_str(&value);
                if !is_no_secret(name, &value) {
                    self.named.borrow_mut().push(value);
                }
            }
            rest = behind;
        }
        whole.push_str(rest);
        Ok(whole)
    }

    /// The values with their variables replaced.
    pub fn expand_values(&self, pairs: &BTreeMap<String, String>) -> Result<Vec<(String, String)>, String> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| Ok((name.clone(), self.expand(value)?)))
            .collect()
    }
}

/// Whether a variable only says where or who the user is. A server that works with files says such things all the time.
fn is_no_secret(name: &str, value: &str) -> bool {
    let is_place = |value: &str| Path::new(value).is_absolute() && becket_fs::exists(Path::new(value));
    matches!(name, "HOME" | "USER" | "LOGNAME" | "HOSTNAME" | "SHELL" | "LANG") || is_place(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_stand_where_they_are_named() {
        let surroundings = Surroundings {
            variables: [("TOKEN".into(), "t".into()), ("EMPTY".into(), "".into())].into(),
            cwd: "/work".into(),
            stdin_is_terminal: false,
            stdout_is_terminal: false,
            stderr_is_terminal: false,
            signals: Default::default(),
            screen: Default::default(),
            listener: Default::default(),
        };
        for (text, wanted) in [
            ("plain $TOKEN", Ok("plain $TOKEN")),
            ("Bearer ${TOKEN}", Ok("Bearer t")),
            ("${TOKEN}${TOKEN}/x", Ok("tt/x")),
            ("Bearer ${env.TOKEN}", Ok("Bearer t")),
            ("${PWD}/x", Ok("/work/x")),
            ("${MISSING}", Err("the variable MISSING is not set")),
            ("${EMPTY}", Err("the variable EMPTY is not set")),
            ("${TOKEN", Err("a `${` has no `}` behind it")),
        ] {
            let found = Variables::of(&surroundings).expand(text);
            assert_eq!(found.as_deref().map_err(String::as_str), wanted, "{text}");
        }
    }
}
