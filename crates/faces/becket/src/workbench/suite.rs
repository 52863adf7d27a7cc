//! Hook tests as data: what stands in a file of tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use becket_hooks::{Cause, Effect, SettingsError, read_toml};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Fired;

/// A file of hook tests.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Suite {
    /// Files with hooks of becket's own, seen from this file.
    pub hooks: Vec<PathBuf>,
    /// Files with hooks in docker-agent's words.
    pub docker_agent: Vec<PathBuf>,
    /// Extensions of pi's.
    pub extensions: Vec<PathBuf>,
    /// A chibi home with plugins.
    pub chibi_home: Option<PathBuf>,
    /// An agent file of docker-agent's.
    pub agent: Option<PathBuf>,
    /// Events that are fired.
    pub test: Vec<Case>,
    /// Whole sessions with a scripted model.
    pub session: Vec<Play>,
}

/// An event that is fired, and what must come of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What is tested.
    pub name: String,
    /// The event, in becket's words or a dialect's.
    pub event: String,
    /// The event's name is this dialect's, and only its hooks are asked.
    #[serde(default)]
    pub dialect: Option<String>,
    /// Fields of the event. What is not given is as the documents show it.
    #[serde(default)]
    pub payload: Map<String, Value>,
    /// Files in the folder in which it happens.
    #[serde(default)]
    pub files: BTreeMap<PathBuf, String>,
    /// What must come of it.
    #[serde(default)]
    pub expect: Expected,
}

/// What must come of an event. What is not said may be anything.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Expected {
    /// What the hooks decide: `none`, `allow`, `ask`, `insist` or `deny`.
    pub outcome: Option<Decision>,
    /// A part of the reason.
    pub reason: Option<String>,
    /// The hooks whose verdict it is.
    pub decided_by: Option<Vec<String>>,
    /// Fields of the event when all have spoken. Of an object only what is named here counts.
    pub rewritten: Map<String, Value>,
    /// Fields of the reply. Of an object only what is named here counts.
    pub reply: Map<String, Value>,
    /// The hooks that are asked, in their order.
    pub asked: Option<Vec<String>>,
    /// The exit codes of the programs that are run, in their order.
    pub exit_codes: Option<Vec<i32>>,
    /// How hooks fail, in their order; none may where this is not given.
    pub failures: Vec<Cause>,
    /// Files afterwards: their text, or `false` for one that must not be there.
    pub files: BTreeMap<PathBuf, Expectation>,
    /// Whether everything that comes of it must be what it was when the snapshot was written.
    pub snapshot: bool,
}

/// What hooks can decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// Nothing.
    None,
    /// The action may happen.
    Allow,
    /// The person is asked.
    Ask,
    /// Only the person can say yes.
    Insist,
    /// The action does not happen.
    Deny,
}

/// What a file must be.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a file's text, or true or false for whether it is there"
)]
pub enum Expectation {
    /// Whether it is there.
    There(bool),
    /// Its text.
    Text(String),
}

/// A session with a scripted model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// What is tested.
    pub name: String,
    /// What the model is asked.
    pub prompt: String,
    /// The turns that it makes, as in a file for `--model scripted/FILE`.
    pub model: Vec<Value>,
    /// Whether every question of the person's is answered with yes.
    #[serde(default)]
    pub yes: bool,
    /// Files in the folder in which it happens.
    #[serde(default)]
    pub files: BTreeMap<PathBuf, String>,
    /// What must come of it.
    #[serde(default)]
    pub expect: Ended,
}

/// How a session must end.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ended {
    /// The exit code; 0 when absent.
    pub exit_code: i32,
    /// A part of the answer.
    pub answer: Option<String>,
    /// A part of what is told beside it: refusals, failures, notices.
    pub told: Option<String>,
    /// Files afterwards.
    pub files: BTreeMap<PathBuf, Expectation>,
}

impl Suite {
    /// Reads a file of tests.
    pub fn read(text: &str, file: &Path) -> Result<Self, SettingsError> {
        read_toml(text, file)
    }

    /// Whether it says which hooks are tested. Otherwise those count that count here.
    pub fn names_hooks(&self) -> bool {
        let lists = [&self.hooks, &self.docker_agent, &self.extensions];
        lists.iter().any(|list| !list.is_empty()) || self.chibi_home.is_some() || self.agent.is_some()
    }
}

impl Expected {
    /// What is not as it must be, in words.
    pub fn unmet(&self, fired: &Fired) -> Vec<String> {
        let mut unmet = Unmet::default();
        self.judge_verdict(fired, &mut unmet);
        self.judge_runs(fired, &mut unmet);
        for (wanted, is, whose) in [
            (&self.rewritten, &fired.after, "the event's"),
            (&self.reply, &fired.reply, "the reply's"),
        ] {
            for (name, wanted) in wanted {
                let is = is.get(name).cloned().unwrap_or_default();
                let what = format!("{whose} `{name}`");
                unmet.must(is_part(wanted, &is), &what, &wanted.to_string(), &is.to_string());
            }
        }
        unmet.0
    }

    fn judge_verdict(&self, fired: &Fired, unmet: &mut Unmet) {
        let (decision, reason) = Decision::of(fired.verdict.as_ref());
        if let Some(wanted) = self.outcome {
            let is = match reason {
                "" => format!("{decision:?}"),
                reason => format!("{decision:?} ({reason})"),
            };
            unmet.must(wanted == decision, "the outcome", &format!("{wanted:?}"), &is);
        }
        if let Some(wanted) = &self.reason {
            let holds = reason.contains(wanted.as_str());
            let (wanted, is) = (format!("`{wanted}`"), format!("`{reason}`"));
            unmet.must(holds, "a part of the reason", &wanted, &is);
        }
        if let Some(wanted) = &self.decided_by {
            let is = &fired.deciders;
            unmet.must(wanted == is, "who decides", &wanted.join(", "), &is.join(", "));
        }
    }

    fn judge_runs(&self, fired: &Fired, unmet: &mut Unmet) {
        let runs = || fired.trace.iter().flat_map(|trace| &trace.runs);
        if let Some(wanted) = &self.asked {
            let asked = runs().filter(|run| run.effect != Effect::NotAsked);
            let is: Vec<String> = asked.map(|run| run.handler.clone()).collect();
            unmet.must(*wanted == is, "who is asked", &wanted.join(", "), &is.join(", "));
        }
        if let Some(wanted) = &self.exit_codes {
            let exchanges = runs().flat_map(|run| &run.exchanges);
            let is: Vec<i32> = exchanges.filter_map(|exchange| exchange.exit_code).collect();
            let holds = *wanted == is;
            unmet.must(
                holds,
                "the exit codes",
                &format!("{wanted:?}"),
                &format!("{is:?}"),
            );
        }
        let causes: Vec<Cause> = fired.failures.iter().map(|failed| failed.failure.cause).collect();
        let words: Vec<String> = fired.failures.iter().map(ToString::to_string).collect();
        let is = if words.is_empty() {
            "none".into()
        } else {
            words.join("; ")
        };
        let holds = causes == self.failures;
        unmet.must(holds, "failures", &format!("{:?}", self.failures), &is);
    }
}

/// What is not as it must be.
#[derive(Default)]
struct Unmet(Vec<String>);

impl Unmet {
    fn must(&mut self, holds: bool, what: &str, wanted: &str, is: &str) {
        if !holds {
            self.0.push(format!("{what} should be {wanted}, but is {is}"));
        }
    }
}

impl Decision {
    fn of(verdict: Option<&becket_events::Verdict>) -> (Self, &str) {
        use becket_events::Verdict;
        match verdict {
            None => (Self::None, ""),
            Some(Verdict::Allow) => (Self::Allow, ""),
            Some(Verdict::Ask(reason)) => (Self::Ask, reason),
            Some(Verdict::Insist(reason)) => (Self::Insist, reason),
            Some(Verdict::Deny(reason)) => (Self::Deny, reason),
        }
    }
}

/// Whether everything that is wanted is there.
fn is_part(wanted: &Value, is: &Value) -> bool {
    match (wanted, is) {
        (Value::Object(wanted), Value::Object(is)) => wanted
            .iter()
            .all(|(name, wanted)| is.get(name).is_some_and(|is| is_part(wanted, is))),
        _ => wanted == is,
    }
}

/// What is not as it must be among files, in words.
pub fn unmet_files(folder: &Path, wanted: &BTreeMap<PathBuf, Expectation>) -> Vec<String> {
    let mut unmet = Vec::new();
    for (name, wanted) in wanted {
        let file = folder.join(name);
        let shown = name.display();
        match (wanted, std::fs::read_to_string(&file)) {
            (Expectation::There(there), _) if file.exists() != *there => {
                let is = if *there { "is not there" } else { "is there" };
                unmet.push(format!("the file {shown} {is}"));
            }
            (Expectation::There(_), _) => {}
            (Expectation::Text(wanted), Ok(text)) if text == *wanted => {}
            (Expectation::Text(wanted), Ok(text)) => {
                unmet.push(format!("the file {shown} should be {wanted:?}, but is {text:?}"));
            }
            (Expectation::Text(_), Err(error)) => unmet.push(format!("the file {shown}: {error}")),
        }
    }
    unmet
}
