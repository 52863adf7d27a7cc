//! Posts the input of a hook to an address, and hears the answer as that of a program.

use std::ffi::OsStr;

use becket_hooks::{Cause, Failure, Finished};
use becket_tools::facts::{Posted, post};
use regex::{Captures, Regex};

use crate::entry::{Action, HookEntry};
use crate::system::Running;

/// Posts the input of a hook.
pub async fn post_hook(entry: &HookEntry, running: &Running, input: &str) -> Result<Finished, Failure> {
    let Action::Http {
        url,
        headers,
        variables,
    } = &entry.action
    else {
        return Err(Failure::new(Cause::SpawnFailed, "it has no address"));
    };
    let raised = |why: String| Failure::new(Cause::Raised, why);
    if let Some(allowed) = &running.allowed_urls
        && !allowed.iter().any(|pattern| fits(pattern, url))
    {
        return Err(raised(format!(
            "{url} is not among the addresses that hooks may post to"
        )));
    }
    let value = |name: &str| {
        let is_allowed = variables.iter().any(|allowed| allowed == name);
        let value = is_allowed.then(|| running.environment.variables.get(OsStr::new(name)));
        let value = value.flatten().and_then(|value| value.to_str());
        value.unwrap_or_default().to_owned()
    };
    let headers = headers.iter();
    let headers: Vec<(String, String)> = headers
        .map(|(name, text)| (name.clone(), expanded(text, value)))
        .collect();
    let posted = Posted {
        body: input.trim_end().to_owned(),
        headers: &headers,
        deadline: entry.timeout,
    };
    let answer = post(&running.urls, url, posted).await.map_err(raised)?;
    let text = answer.trim();
    if !text.is_empty() && !text.starts_with('{') {
        return Err(raised(format!("the answer of {url} is not a JSON object")));
    }
    Ok(Finished {
        stdout: answer.into_bytes(),
        stderr: String::new(),
        code: 0,
        complete: true,
    })
}

/// Whether an address fits a pattern in which `*` stands for anything.
fn fits(pattern: &str, url: &str) -> bool {
    let parts: Vec<String> = pattern.split('*').map(regex::escape).collect();
    Regex::new(&format!("^{}$", parts.join(".*"))).is_ok_and(|regex| regex.is_match(url))
}

/// A text with `$NAME` and `${NAME}` replaced.
fn expanded(text: &str, value: impl Fn(&str) -> String) -> String {
    let Ok(variable) = Regex::new(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))") else {
        return text.to_owned();
    };
    let replaced = variable.replace_all(text, |found: &Captures<'_>| {
        let name = found.get(1).or(found.get(2));
        name.map(|name| value(name.as_str())).unwrap_or_default()
    });
    replaced.into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_addresses_stand_for_whole_addresses() {
        assert!(fits("https://hooks.example.com/*", "https://hooks.example.com/a"));
        assert!(!fits(
            "https://hooks.example.com/*",
            "https://hooks.example.com.evil.org/"
        ));
        assert!(!fits("https://a.example.com", "https://a.example.com/b"));
    }

    #[test]
    fn variables_in_headers_are_replaced() {
        let value = |name: &str| {
            if name == "KEY" {
                "k".to_owned()
            } else {
                String::new()
            }
        };
        assert_eq!(expanded("Bearer $KEY ${KEY} $OTHER", value), "Bearer k k ");
    }
}
