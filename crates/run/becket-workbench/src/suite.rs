//! Hook tests as data: the content of a test file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use becket_hooks::{Cause, Effect, SettingsError, read_toml};
use becket_host::AGENT_FILE;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::lab::Fired;

/// A file of hook tests.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Suite {
    /// Files with becket's own hooks, relative to this file.
    pub hooks: Vec<PathBuf>,
    /// Files with docker-agent hooks.
    pub docker_agent: Vec<PathBuf>,
    /// Files with hooks of other agents, by the names of their dialects, such as `claude-code`.
    pub foreign: BTreeMap<String, Vec<PathBuf>>,
    /// pi extensions.
    pub extensions: Vec<PathBuf>,
    /// A chibi home with plugins.
    pub chibi_home: Option<PathBuf>,
    /// A docker-agent agent file.
    pub agent: Option<PathBuf>,
    /// Tests that fire an event.
    pub test: Vec<Case>,
    /// Tests that play a whole session with a scripted model.
    pub session: Vec<Play>,
}

/// A test that fires an event.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// What is tested.
    pub name: String,
    /// The event, in becket's words or a dialect's.
    pub event: String,
    /// The dialect of the event's name; only its hooks are asked.
    #[serde(default)]
    pub dialect: Option<String>,
    /// Fields of the event. Others are as documented.
    #[serde(default)]
    pub payload: Map<String, Value>,
    /// Files in the working directory of the event.
    #[serde(default)]
    pub files: BTreeMap<PathBuf, String>,
    /// The expected result.
    #[serde(default)]
    pub expect: Expected,
}

/// The expected result of an event. Keys that are not given are not checked.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Expected {
    /// What the hooks decide: `none`, `allow`, `ask`, `insist` or `deny`.
    pub outcome: Option<Decision>,
    /// A part of the reason.
    pub reason: Option<String>,
    /// The hooks whose verdict it is.
    pub decided_by: Option<Vec<String>>,
    /// Fields of the event after all hooks have answered. In an object only the given members are compared.
    pub rewritten: Map<String, Value>,
    /// Fields of the combined reply. In an object only the given members are compared.
    pub reply: Map<String, Value>,
    /// The hooks that are asked, in order.
    pub asked: Option<Vec<String>>,
    /// The exit codes of the programs that are run, in order.
    pub exit_codes: Option<Vec<i32>>,
    /// The failures of hooks, in order; if not given, none may fail.
    pub failures: Vec<Cause>,
    /// Files afterwards: their text, or `false` for a file that must not exist.
    pub files: BTreeMap<PathBuf, Expectation>,
    /// Whether the whole result must be equal to the stored snapshot.
    pub snapshot: bool,
}

/// What hooks can decide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// No hook decides.
    None,
    /// The action may happen.
    Allow,
    /// The user is asked.
    Ask,
    /// Only the user can say yes.
    Insist,
    /// The action does not happen.
    Deny,
}

/// What is expected of a file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a file's text, or true or false for whether it is there"
)]
pub enum Expectation {
    /// Whether the file exists.
    There(bool),
    /// The text of the file.
    Text(String),
}

/// A test that plays a session with a scripted model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Play {
    /// What is tested.
    pub name: String,
    /// What the model is asked.
    pub prompt: String,
    /// The turns of the model, as in a file for `--model scripted/FILE`.
    pub model: Vec<Value>,
    /// Whether every question to the user is answered with yes.
    #[serde(default)]
    pub yes: bool,
    /// Files in the working directory of the session.
    #[serde(default)]
    pub files: BTreeMap<PathBuf, String>,
    /// The expected end.
    #[serde(default)]
    pub expect: Ended,
}

/// The expected end of a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Ended {
    /// The exit code; default: 0.
    pub exit_code: i32,
    /// A part of the answer.
    pub answer: Option<String>,
    /// A part of standard error, which tells refusals, failures and notices.
    pub told: Option<String>,
    /// Files afterwards: their text, or `false` for a file that must not exist.
    pub files: BTreeMap<PathBuf, Expectation>,
}

impl Suite {
    /// Reads a file of tests.
    pub fn read(text: &str, file: &Path) -> Result<Self, SettingsError> {
        read_toml(text, file)
    }

    /// The files and folders that the suite names, by the command line options that name them.
    pub fn named(&self) -> Vec<(Cow<'static, str>, Vec<&PathBuf>)> {
        let mut named = vec![
            ("hooks".into(), self.hooks.iter().collect()),
            ("docker-agent-hooks".into(), self.docker_agent.iter().collect()),
            ("extension".into(), self.extensions.iter().collect()),
            ("chibi-home".into(), self.chibi_home.iter().collect()),
            (AGENT_FILE.into(), self.agent.iter().collect()),
        ];
        let foreign = self.foreign.iter();
        named.extend(
            foreign.map(|(dialect, files)| (format!("{dialect}-hooks").into(), files.iter().collect())),
        );
        named
    }

    /// Whether the suite says which hooks are tested. Otherwise the hooks are those of a run here.
    pub fn names_hooks(&self) -> bool {
        self.named().iter().any(|(_, files)| !files.is_empty())
    }
}

impl Ended {
    /// What of a session's end is not as expected, in words.
    pub fn unmet(&self, code: i32, stdout: &str, stderr: &str) -> Vec<String> {
        let mut unmet = Vec::new();
        if code != self.exit_code {
            let wanted = self.exit_code;
            unmet.push(format!(
                "exit code: expected {wanted}, got {code}: {}",
                stderr.trim()
            ));
        }
        for (wanted, is, what) in [(&self.answer, stdout, "answer"), (&self.told, stderr, "stderr")] {
            if let Some(wanted) = wanted.as_ref().filter(|wanted| !is.contains(wanted.as_str())) {
                unmet.push(format!("{what}: expected `{wanted}` in it, got `{}`", is.trim()));
            }
        }
        unmet
    }
}

impl Expected {
    /// What of an event's result is not as expected, in words.
    pub fn unmet(&self, fired: &Fired) -> Vec<String> {
        let mut unmet = Unmet::default();
        self.judge_verdict(fired, &mut unmet);
        self.judge_runs(fired, &mut unmet);
        for (wanted, is, whose) in [
            (&self.rewritten, &fired.rehearsed.after, "event's"),
            (&self.reply, &fired.rehearsed.reply, "reply's"),
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
        let (decision, reason) = Decision::of(fired.rehearsed.verdict.as_ref());
        if let Some(wanted) = self.outcome {
            let word = |decision: Decision| format!("{decision:?}").to_lowercase();
            let is = match reason {
                "" => word(decision),
                reason => format!("{} ({reason})", word(decision)),
            };
            unmet.must(wanted == decision, "outcome", &word(wanted), &is);
        }
        if let Some(wanted) = &self.reason {
            let holds = reason.contains(wanted.as_str());
            let (wanted, is) = (format!("`{wanted}`"), format!("`{reason}`"));
            unmet.must(holds, "part of the reason", &wanted, &is);
        }
        if let Some(wanted) = &self.decided_by {
            let is = &fired.rehearsed.deciders;
            unmet.must(wanted == is, "decided by", &wanted.join(", "), &is.join(", "));
        }
    }

    fn judge_runs(&self, fired: &Fired, unmet: &mut Unmet) {
        let runs = || fired.rehearsed.trace.iter().flat_map(|trace| &trace.runs);
        if let Some(wanted) = &self.asked {
            let asked = runs().filter(|run| run.effect != Effect::NotAsked);
            let is: Vec<String> = asked.map(|run| run.handler.clone()).collect();
            unmet.must(*wanted == is, "hooks asked", &wanted.join(", "), &is.join(", "));
        }
        if let Some(wanted) = &self.exit_codes {
            let exchanges = runs().flat_map(|run| &run.exchanges);
            let is: Vec<i32> = exchanges.filter_map(|exchange| exchange.exit_code).collect();
            let holds = *wanted == is;
            unmet.must(holds, "exit codes", &format!("{wanted:?}"), &format!("{is:?}"));
        }
        let causes: Vec<Cause> = fired
            .rehearsed
            .failures
            .iter()
            .map(|failed| failed.failure.cause)
            .collect();
        let words: Vec<String> = fired.rehearsed.failures.iter().map(ToString::to_string).collect();
        let is = if words.is_empty() {
            "none".into()
        } else {
            words.join("; ")
        };
        let holds = causes == self.failures;
        unmet.must(holds, "failures", &format!("{:?}", self.failures), &is);
    }
}

/// A list of what is not as expected.
#[derive(Default)]
struct Unmet(Vec<String>);

impl Unmet {
    fn must(&mut self, holds: bool, what: &str, wanted: &str, is: &str) {
        if !holds {
            self.0.push(format!("{what}: expected {wanted}, got {is}"));
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

/// Whether everything in `wanted` is in `is`.
fn is_part(wanted: &Value, is: &Value) -> bool {
    match (wanted, is) {
        (Value::Object(wanted), Value::Object(is)) => wanted
            .iter()
            .all(|(name, wanted)| is.get(name).is_some_and(|is| is_part(wanted, is))),
        _ => wanted == is,
    }
}

/// Which files are not as expected, in words.
pub fn unmet_files(folder: &Path, wanted: &BTreeMap<PathBuf, Expectation>) -> Vec<String> {
    let mut unmet = Vec::new();
    for (name, wanted) in wanted {
        let file = folder.join(name);
        let shown = name.display();
        match (wanted, std::fs::read_to_string(&file)) {
            (Expectation::There(there), _) if file.exists() != *there => {
                let is = if *there { "is not there" } else { "is there" };
                unmet.push(format!("file {shown} {is}"));
            }
            (Expectation::There(_), _) => {}
            (Expectation::Text(wanted), Ok(text)) if text == *wanted => {}
            (Expectation::Text(wanted), Ok(text)) => {
                unmet.push(format!("file {shown}: expected {wanted:?}, got {text:?}"));
            }
            (Expectation::Text(_), Err(error)) => unmet.push(format!("file {shown}: {error}")),
        }
    }
    unmet
}
