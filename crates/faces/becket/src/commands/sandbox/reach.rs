//! What a command names, and how far it would get with it in the sandbox.
//!
//! A shell line is read, and not run: what its variables and the commands inside it expand to is not known before.

use std::path::{Path, PathBuf};

use becket_agent::gate::WebAccess;
use becket_agent::url_policy::Extent;
use becket_run::sandbox::Sandbox;
use becket_sandbox::{Access, Plan};
use becket_shell::{Command, Part, Word, read};
use becket_system::Surroundings;
use serde::Serialize;

/// Something that a command names, and what it could do with it.
#[derive(Debug, Serialize)]
pub(super) struct Named {
    pub(super) word: String,
    pub(super) reach: String,
}

/// What a command names: the arguments of a program, or a line for the shell if there is only one.
pub(super) async fn named(
    command: &[String],
    (sandbox, access): (&Sandbox, &WebAccess),
    surroundings: &Surroundings,
) -> Vec<Named> {
    let words = match command {
        [] => return Vec::new(),
        [line] => Words::of_line(line),
        words => Words {
            literal: words.to_vec(),
            ..Words::default()
        },
    };
    let plan = sandbox.plan();
    let mut named = Vec::new();
    for word in words.literal {
        let reach = match (url_in(&word), path_in(&word, surroundings)) {
            (Some(url), _) => reach_of(url, sandbox, access).await,
            (None, Some(path)) => words_for(access_to(&plan, &path)).to_owned(),
            (None, None) => continue,
        };
        named.push(Named { word, reach });
    }
    let unknown = words.expanded.into_iter().map(|word| Named {
        word,
        reach: "not known before it runs".to_owned(),
    });
    named.extend(unknown);
    named
}

async fn reach_of(url: &str, sandbox: &Sandbox, access: &WebAccess) -> String {
    if !sandbox.has_network() {
        return "cannot be reached: there is no network".to_owned();
    }
    let (url, extent) = judged_as(url);
    match access.may_reach(&url, extent).await {
        Ok(_) => "can be reached".to_owned(),
        Err(why) => format!("cannot be reached: {why}"),
    }
}

/// The words of a line, each once.
#[derive(Default)]
struct Words {
    literal: Vec<String>,
    /// Those of which a part is expanded when the line runs, as they are written.
    expanded: Vec<String>,
}

impl Words {
    fn of_line(line: &str) -> Self {
        let script = read(line);
        let mut words = Self::default();
        words.add(line, &script.commands);
        if let Some(unreadable) = script.unreadable {
            words
                .expanded
                .push(line[unreadable.at.min(line.len())..].to_owned());
        }
        words
    }

    fn add(&mut self, line: &str, commands: &[Command]) {
        for command in commands {
            let targets = command.redirects.iter().map(|redirect| &redirect.target);
            for word in command.assignments.iter().chain(&command.words).chain(targets) {
                self.add_word(line, word);
            }
            self.add(line, &command.body);
        }
    }

    fn add_word(&mut self, line: &str, word: &Word) {
        let (list, text) = match word.literal() {
            Some(text) => (&mut self.literal, text),
            None => (
                &mut self.expanded,
                line.get(word.span.clone()).unwrap_or_default(),
            ),
        };
        if !text.is_empty() && !list.iter().any(|known| known == text) {
            list.push(text.to_owned());
        }
        for part in &word.parts {
            if let Part::Commands { commands, .. } = part {
                self.add(line, commands);
            }
        }
    }
}

/// The web address in a word, such as that of `--url=https://example.com/`.
fn url_in(word: &str) -> Option<&str> {
    let start = ["http://", "https://"]
        .iter()
        .filter_map(|scheme| word.find(scheme))
        .min()?;
    Some(&word[start..])
}

/// What is judged for an address: the pages of an encrypted server are not seen by whoever decides.
fn judged_as(url: &str) -> (String, Extent) {
    match url.strip_prefix("https://") {
        Some(rest) => {
            let server = rest.split(['/', '?', '#']).next().unwrap_or_default();
            (format!("https://{server}/"), Extent::Server)
        }
        None => (url.to_owned(), Extent::Page),
    }
}

/// The file that a word means, if it looks like one, or names one that is there. Links are followed as far as it is
/// there.
fn path_in(word: &str, surroundings: &Surroundings) -> Option<PathBuf> {
    let word = match word.strip_prefix('-') {
        Some(option) => option.split_once('=')?.1,
        None => word,
    };
    let home = surroundings.variable("HOME");
    let path = match (word.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => Path::new(&home).join(below),
        _ => surroundings.cwd.join(word),
    };
    if !word.contains('/') && !path.exists() {
        return None;
    }
    let mut missing = Vec::new();
    let mut there = path.as_path();
    loop {
        if let Ok(real) = there.canonicalize() {
            return Some(
                missing
                    .iter()
                    .rev()
                    .fold(real, |path: PathBuf, name| path.join(name)),
            );
        }
        missing.push(there.file_name()?);
        there = there.parent()?;
    }
}

/// What the plan allows below a path: the longest path that contains it decides, and of two the stricter.
fn access_to(plan: &Plan, path: &Path) -> Option<Access> {
    let around = plan.paths.iter().filter(|(_, outer)| path.starts_with(outer));
    let decides = around.max_by_key(|(access, outer)| (outer.components().count(), *access));
    decides.map(|(access, _)| *access)
}

fn words_for(access: Option<Access>) -> &'static str {
    match access {
        Some(Access::Writable) => "can be read and written",
        Some(Access::Scratch) => "can be read and written; what is written is gone with the command",
        Some(Access::ReadOnly) | None => "can be read",
        Some(Access::Hidden) => "hidden",
    }
}
