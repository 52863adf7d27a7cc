//! The value of a `hooks:` key, as docker-agent's files write it.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;
use std::time::Duration;

use becket_dialect_kit::yaml::{Spanned, line_of};
use becket_hooks::{Pattern, SettingsError, nearest};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{self, MapAccess, SeqAccess};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::contract::Contract;
use super::hook::{Builtin, HookEntry, HookKind, OnError, USUAL_TIMEOUT};
use super::rows::all_contracts;
use super::template::Template;

/// The type of hooks that let a service judge.
const EVALUATOR: &str = "evaluator";

/// Events whose hooks choose the agent that goes on.
const ROUTING: [&str; 2] = ["before_agent_run", "after_agent_complete"];

/// The hooks of a file or of an agent, by event. Errors in them are found by `entries`.
#[derive(Debug, Clone, Default)]
pub struct HooksConfig(Vec<(Spanned<String>, Group)>);

/// The hooks under one event.
#[derive(Debug, Clone)]
enum Group {
    /// Hooks for certain tools.
    Matched(Vec<MatchedHooks>),
    /// Hooks without a matcher.
    Plain(Vec<Hook>),
    /// Hooks under a name that is no event.
    Unknown,
}

/// Hooks for certain tools.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct MatchedHooks {
    #[serde(default)]
    matcher: Option<Spanned<String>>,
    #[serde(default)]
    preempt_yolo: Option<Spanned<bool>>,
    hooks: OneOrMore<Hook>,
}

/// One hook.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Hook {
    #[serde(default, rename = "type")]
    kind: Option<Spanned<String>>,
    #[serde(default)]
    command: Option<Spanned<String>>,
    #[serde(default)]
    args: Option<Spanned<Vec<String>>>,
    #[serde(default)]
    name: Option<Spanned<String>>,
    #[serde(default)]
    timeout: Option<Spanned<i64>>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    working_dir: Option<Spanned<String>>,
    #[serde(default)]
    on_error: Option<Spanned<String>>,
    #[serde(default)]
    model: Option<Spanned<String>>,
    #[serde(default)]
    prompt: Option<Spanned<String>>,
    #[serde(default)]
    schema: Option<Spanned<String>>,
    #[serde(default)]
    strict_output: Option<Spanned<bool>>,
    /// The judge of a hook of the type `evaluator`, which becket does not have.
    #[serde(default, rename = "evaluator")]
    _evaluator: Option<de::IgnoredAny>,
    /// What each judgement of an evaluator means.
    #[serde(default)]
    evaluator_policy: Option<Value>,
}

/// A list, or a single member without a list.
#[derive(Debug, Clone)]
struct OneOrMore<T>(Vec<T>);

impl HooksConfig {
    /// The hooks, in the order of the file, or the first error in them.
    pub fn entries(&self, file: &Path) -> Result<Vec<HookEntry>, SettingsError> {
        let (entries, remarks) = self.entries_and_remarks(file)?;
        match remarks.into_iter().next() {
            None => Ok(entries),
            Some(remark) => Err(remark),
        }
    }

    /// The hooks as `entries` has them, but without builtins that becket does not have and that could only observe. For
    /// each of those there is a remark.
    pub fn entries_and_remarks(
        &self,
        file: &Path,
    ) -> Result<(Vec<HookEntry>, Vec<SettingsError>), SettingsError> {
        let contracts = all_contracts();
        let (mut entries, mut remarks) = (Vec::new(), Vec::new());
        for (event, group) in &self.0 {
            let place = ErrorPosition {
                file,
                line: line_of(event),
            };
            let contract = contracts.iter().find(|contract| contract.name == event.value);
            if ROUTING.contains(&event.value.as_str()) {
                return Err(place.error(format!(
                    "hooks of {} choose the agent that goes on, which becket does not let them; leave them out, and \
                     name the agent with `--agent`",
                    event.value
                )));
            }
            let contract = contract.ok_or_else(|| place.error(unknown_event(&event.value, &contracts)))?;
            let reader = Reader { contract, place };
            match group {
                Group::Unknown => return Err(place.error(unknown_event(&event.value, &contracts))),
                Group::Plain(hooks) => {
                    for hook in hooks {
                        match reader.left_out(hook) {
                            Some(remark) => remarks.push(remark),
                            None => entries.push(reader.entry(hook, None)?),
                        }
                    }
                }
                Group::Matched(groups) => {
                    for group in groups {
                        entries.extend(reader.matched(group)?);
                        remarks.extend(reader.unasked_evaluators(group));
                    }
                }
            }
        }
        Ok((entries, remarks))
    }
}

/// The position of an error.
#[derive(Clone, Copy)]
struct ErrorPosition<'a> {
    file: &'a Path,
    line: usize,
}

impl ErrorPosition<'_> {
    fn error(self, message: impl Into<String>) -> SettingsError {
        SettingsError {
            file: self.file.into(),
            line: self.line,
            message: message.into(),
        }
    }

    fn at<T>(self, value: &Spanned<T>) -> Self {
        Self {
            line: line_of(value),
            ..self
        }
    }
}

/// Reads the hooks of one event.
struct Reader<'a> {
    contract: &'a Contract,
    place: ErrorPosition<'a>,
}

impl Reader<'_> {
    fn matched(&self, group: &MatchedHooks) -> Result<Vec<HookEntry>, SettingsError> {
        let event = self.contract.name;
        if group.hooks.0.is_empty() {
            let message = format!("`hooks` of {event} is empty; a matcher needs at least one hook");
            return Err(self.place.error(message));
        }
        if let Some(matcher) = group.matcher.as_ref().filter(|matcher| matcher.value != "*") {
            Pattern::regex(&matcher.value).map_err(|error| {
                let message = format!("`matcher` is no regular expression: {error}");
                self.place.at(matcher).error(message)
            })?;
        }
        if let Some(preempt) = &group.preempt_yolo
            && preempt.value
            && event != "pre_tool_use"
        {
            let message = format!("`preempt_yolo` is for pre_tool_use, not for {event}");
            return Err(self.place.at(preempt).error(message));
        }
        let hooks = group.hooks.0.iter();
        hooks.map(|hook| self.entry(hook, Some(group))).collect()
    }

    /// The remark about a builtin that becket does not have, if all that it could do here is to observe.
    fn left_out(&self, hook: &Hook) -> Option<SettingsError> {
        let is_builtin = hook.kind.as_ref().is_some_and(|kind| kind.value == "builtin");
        let name = hook.command.as_ref().filter(|_| is_builtin)?;
        let is_known = Builtin::names().any(|known| known == name.value);
        if is_known || !self.contract.only_observes() || name.value.trim().is_empty() {
            return None;
        }
        let event = self.contract.name;
        let meant = nearest(&name.value, Builtin::names());
        let meant = meant.map_or(String::new(), |meant| format!("; did you mean `{meant}`?"));
        let message = format!(
            "there is no builtin `{}`, so this hook of {event} is left out{meant}",
            name.value
        );
        Some(self.place.at(name).error(message))
    }

    /// Remarks about evaluators, in whose place the user is asked.
    fn unasked_evaluators(&self, group: &MatchedHooks) -> Vec<SettingsError> {
        let kinds = group.hooks.0.iter().filter_map(|hook| hook.kind.as_ref());
        let evaluators = kinds.filter(|kind| kind.value == EVALUATOR);
        let remark = "evaluators are not asked, so you are asked about every call that this hook is for";
        evaluators.map(|kind| self.place.at(kind).error(remark)).collect()
    }

    fn entry(&self, hook: &Hook, group: Option<&MatchedHooks>) -> Result<HookEntry, SettingsError> {
        let place = ErrorPosition {
            line: hook.line().unwrap_or(self.place.line),
            ..self.place
        };
        let seconds = hook
            .timeout
            .as_ref()
            .and_then(|timeout| u64::try_from(timeout.value).ok());
        let timeout = seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs);
        let matcher = group.and_then(|group| group.matcher.as_ref());
        let preempt = group.and_then(|group| group.preempt_yolo.as_ref());
        Ok(HookEntry {
            event: self.contract.name,
            matcher: matcher
                .map(|matcher| matcher.value.clone())
                .filter(|matcher| !matcher.is_empty()),
            preempt_yolo: preempt.is_some_and(|preempt| preempt.value),
            kind: self.kind(hook, place)?,
            name: hook.name.as_ref().map(|name| name.value.clone()),
            timeout: timeout.unwrap_or(USUAL_TIMEOUT),
            env: hook.env.clone(),
            working_dir: hook.working_dir.as_ref().map(|directory| directory.value.clone()),
            on_error: self.on_error(hook)?,
            strict_output: hook.strict_output.as_ref().is_some_and(|strict| strict.value),
            source: format!("{}:{}", place.file.display(), place.line),
        })
    }

    fn kind(&self, hook: &Hook, place: ErrorPosition<'_>) -> Result<HookKind, SettingsError> {
        const KINDS: [&str; 3] = ["command", "builtin", "model"];
        let kind = hook
            .kind
            .as_ref()
            .ok_or_else(|| place.error("a hook needs `type`: command, builtin or model"))?;
        let (wanted, unwanted): (&[&str], &[&str]) = match kind.value.as_str() {
            "command" => (&["command"], &["args", "model", "prompt", "schema"]),
            "builtin" => (&["command"], &["model", "prompt", "schema"]),
            "model" => (&["model", "prompt"], &["command", "args", "env", "working_dir"]),
            EVALUATOR if self.contract.name == "tool_guard" && hook.asks_at_most() => {
                return Ok(HookKind::Builtin(Builtin::AskUser));
            }
            EVALUATOR => {
                let message = "evaluators are not asked. One of tool_guard that only allows or asks is served by \
                               asking you; write any other as a hook of the type model";
                return Err(place.at(kind).error(message));
            }
            other => {
                return Err(place.at(kind).error(unknown("type", other, &KINDS)));
            }
        };
        for key in wanted {
            if hook.text(key).is_none_or(|text| text.value.trim().is_empty()) {
                return Err(place.error(format!("a hook of the type {} needs `{key}`", kind.value)));
            }
        }
        if let Some(key) = unwanted.iter().find(|key| hook.has(key)) {
            return Err(place.error(format!(
                "`{key}` means nothing for a hook of the type {}",
                kind.value
            )));
        }
        match kind.value.as_str() {
            "model" => self.model(hook, place),
            "builtin" => self.builtin(hook, place),
            _ => Ok(HookKind::Command(hook.value("command"))),
        }
    }

    fn builtin(&self, hook: &Hook, place: ErrorPosition<'_>) -> Result<HookKind, SettingsError> {
        let name = hook.value("command");
        let args = hook.args.as_ref().map_or(&[][..], |args| &args.value);
        let at = hook.args.as_ref().map_or(place, |args| place.at(args));
        match Builtin::read(&name, args) {
            None => {
                let names: Vec<&str> = Builtin::names().collect();
                let place = hook.command.as_ref().map_or(place, |command| place.at(command));
                Err(place.error(unknown("builtin", &name, &names)))
            }
            Some(Err(message)) => Err(at.error(message)),
            Some(Ok(builtin)) => {
                if let Builtin::AddContext(texts) = &builtin {
                    for text in texts {
                        Template::read(text).map_err(|message| at.error(message))?;
                    }
                }
                Ok(HookKind::Builtin(builtin))
            }
        }
    }

    fn model(&self, hook: &Hook, place: ErrorPosition<'_>) -> Result<HookKind, SettingsError> {
        let prompt = hook.value("prompt");
        if let Some(text) = &hook.prompt {
            Template::read(&prompt).map_err(|message| place.at(text).error(message))?;
        }
        let judges = match &hook.schema {
            None => false,
            Some(schema) if schema.value == "pre_tool_use_decision" => {
                if !self.contract.means("permission_decision") {
                    let message = format!(
                        "{} takes no verdict, so `schema` means nothing there",
                        self.contract.name
                    );
                    return Err(place.at(schema).error(message));
                }
                true
            }
            Some(schema) => {
                let message = unknown("schema", &schema.value, &["pre_tool_use_decision"]);
                return Err(place.at(schema).error(message));
            }
        };
        Ok(HookKind::Model {
            model: hook.value("model"),
            prompt,
            judges,
        })
    }

    fn on_error(&self, hook: &Hook) -> Result<Option<OnError>, SettingsError> {
        let Some(word) = &hook.on_error else {
            return Ok(None);
        };
        match word.value.as_str() {
            "warn" => Ok(Some(OnError::Warn)),
            "ignore" => Ok(Some(OnError::Ignore)),
            "block" if self.contract.can_block() => Ok(Some(OnError::Block)),
            "block" => {
                let message = format!(
                    "{} cannot be blocked, so `on_error` is warn or ignore",
                    self.contract.name
                );
                Err(self.place.at(word).error(message))
            }
            other => {
                let message = unknown("on_error", other, &["warn", "ignore", "block"]);
                Err(self.place.at(word).error(message))
            }
        }
    }
}

impl Hook {
    fn text(&self, key: &str) -> Option<&Spanned<String>> {
        match key {
            "type" => self.kind.as_ref(),
            "command" => self.command.as_ref(),
            "name" => self.name.as_ref(),
            "working_dir" => self.working_dir.as_ref(),
            "on_error" => self.on_error.as_ref(),
            "model" => self.model.as_ref(),
            "prompt" => self.prompt.as_ref(),
            "schema" => self.schema.as_ref(),
            _ => None,
        }
    }

    fn value(&self, key: &str) -> String {
        self.text(key).map(|text| text.value.clone()).unwrap_or_default()
    }

    fn has(&self, key: &str) -> bool {
        match key {
            "args" => self.args.is_some(),
            "env" => !self.env.is_empty(),
            key => self.text(key).is_some(),
        }
    }

    /// Whether no judgement of an evaluator means more than a question to the user.
    fn asks_at_most(&self) -> bool {
        fn are_mild(value: &Value) -> bool {
            match value {
                Value::String(word) => word == "allow" || word == "ask",
                Value::Array(list) => list.iter().all(are_mild),
                Value::Object(table) => table.values().all(are_mild),
                Value::Number(_) => true,
                Value::Null | Value::Bool(_) => false,
            }
        }
        self.evaluator_policy.as_ref().is_some_and(are_mild)
    }

    /// The line in which the hook begins.
    fn line(&self) -> Option<usize> {
        let texts = [
            "type",
            "command",
            "name",
            "working_dir",
            "on_error",
            "model",
            "prompt",
            "schema",
        ];
        let texts = texts.iter().filter_map(|key| self.text(key).map(line_of));
        let others = [
            self.args.as_ref().map(line_of),
            self.timeout.as_ref().map(line_of),
            self.strict_output.as_ref().map(line_of),
        ];
        texts.chain(others.into_iter().flatten()).min()
    }
}

fn unknown_event(name: &str, contracts: &[Contract]) -> String {
    let names: Vec<&str> = contracts.iter().map(|contract| contract.name).collect();
    unknown("event", name, &names)
}

fn unknown(what: &str, word: &str, known: &[&str]) -> String {
    match nearest(word, known.iter().copied()) {
        Some(near) => format!("unknown {what} `{word}`; did you mean `{near}`?"),
        None => format!("unknown {what} `{word}`; expected one of {}", known.join(", ")),
    }
}

impl<'de> Deserialize<'de> for HooksConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ConfigVisitor)
    }
}

struct ConfigVisitor;

impl<'de> de::Visitor<'de> for ConfigVisitor {
    type Value = HooksConfig;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("hooks by event, such as `pre_tool_use:` with a list below it")
    }

    /// A `hooks` key without a value has no hooks.
    fn visit_unit<E: de::Error>(self) -> Result<HooksConfig, E> {
        Ok(HooksConfig::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<HooksConfig, A::Error> {
        let contracts = all_contracts();
        let mut groups = Vec::new();
        while let Some(event) = map.next_key::<Spanned<String>>()? {
            let contract = contracts.iter().find(|contract| contract.name == event.value);
            let group = match contract {
                Some(contract) if contract.matcher => Group::Matched(map.next_value::<OneOrMore<_>>()?.0),
                Some(_) => Group::Plain(map.next_value::<OneOrMore<_>>()?.0),
                None => map.next_value::<de::IgnoredAny>().map(|_| Group::Unknown)?,
            };
            groups.push((event, group));
        }
        Ok(HooksConfig(groups))
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer
            .deserialize_any(OneOrMoreVisitor(PhantomData))
            .map(Self)
    }
}

struct OneOrMoreVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> de::Visitor<'de> for OneOrMoreVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of hooks, or one hook")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Vec<T>, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, one: A) -> Result<Vec<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(one)).map(|one| vec![one])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use becket_dialect_kit::yaml::read_yaml;

    fn read(text: &str) -> Result<Vec<HookEntry>, SettingsError> {
        let file = Path::new("agent.yaml");
        read_yaml::<HooksConfig>(text, file)?.entries(file)
    }

    fn fault(text: &str) -> String {
        read(text).unwrap_err().to_string()
    }

    #[test]
    fn hooks_are_read_with_their_places() {
        let entries = read(
            "pre_tool_use:\n  - matcher: shell|edit_file\n    preempt_yolo: true\n    hooks:\n      \
             - type: command\n        timeout: 10\n        command: cat\nturn_start:\n  - type: builtin\n    \
             command: add_prompt_files\n    args: [A.md, B.md]\nstop:\n  type: command\n  command: x\n  timeout: -1\n",
        )
        .unwrap();
        assert_eq!(entries.len(), 3);
        assert_eq!(entries[0].event, "pre_tool_use");
        assert_eq!(entries[0].matcher.as_deref(), Some("shell|edit_file"));
        assert!(entries[0].preempt_yolo);
        assert_eq!(entries[0].timeout, Duration::from_secs(10));
        assert_eq!(entries[0].source, "agent.yaml:5");
        let files = vec!["A.md".to_owned(), "B.md".to_owned()];
        assert_eq!(entries[1].kind, HookKind::Builtin(Builtin::AddPromptFiles(files)));
        assert_eq!(entries[2].kind, HookKind::Command("x".into()));
        assert_eq!(entries[2].timeout, USUAL_TIMEOUT);
    }

    #[test]
    fn a_group_may_stand_alone_and_a_key_may_be_empty() {
        let entries = read(
            "tool_guard:\n  matcher: '*'\n  hooks:\n    type: command\n    command: x\nstop:\nturn_end: []\n",
        );
        assert_eq!(entries.unwrap().len(), 1);
        assert_eq!(read("{}").unwrap(), []);
    }

    #[test]
    // tidy: a table
    fn what_is_wrong_is_told_with_its_line() {
        let table = [
            (
                "pre_tool_us:\n  - type: command\n",
                ":1: unknown event `pre_tool_us`; did you mean `pre_tool_use`?",
            ),
            (
                "stop:\n  - command: x\n",
                ":2: a hook needs `type`: command, builtin or model",
            ),
            (
                "stop:\n  - type: comand\n",
                ":2: unknown type `comand`; did you mean `command`?",
            ),
            (
                "stop:\n  - type: command\n",
                ":2: a hook of the type command needs `command`",
            ),
            (
                "stop:\n  - type: model\n    model: m\n",
                ":2: a hook of the type model needs `prompt`",
            ),
            (
                "stop:\n  - type: command\n    comand: x\n",
                ":3: unknown key `comand`; did you mean `command`?",
            ),
            (
                "stop:\n  - type: builtin\n    command: add_dat\n",
                ":3: unknown builtin `add_dat`; did you mean `add_date`?",
            ),
            (
                "pre_tool_use:\n  - matcher: 'a('\n    hooks:\n      - type: command\n        command: x\n",
                ":2: `matcher` is no regular expression",
            ),
            (
                "pre_tool_use:\n  - matcher: a\n    hooks: []\n",
                ":1: `hooks` of pre_tool_use is empty",
            ),
            (
                "post_tool_use:\n  - preempt_yolo: true\n    hooks: [{type: command, command: x}]\n",
                ":2: `preempt_yolo` is for pre_tool_use, not for post_tool_use",
            ),
            (
                "turn_end:\n  - type: command\n    command: x\n    on_error: block\n",
                ":4: turn_end cannot be blocked, so `on_error` is warn or ignore",
            ),
            (
                "turn_end:\n  - type: command\n    command: x\n    on_error: wran\n",
                ":4: unknown on_error `wran`; did you mean `warn`?",
            ),
            (
                "tool_guard:\n  - hooks:\n    - type: model\n      model: m\n      prompt: '{{ .ToolNam }}'\n",
                ":5: a template knows no `.ToolNam`; did you mean `.ToolName`?",
            ),
            (
                "turn_end:\n  - type: model\n    model: m\n    prompt: x\n    schema: pre_tool_use_decision\n",
                ":5: turn_end takes no verdict",
            ),
            (
                "stop:\n  - type: command\n    command: x\n    schema: x\n",
                ":2: `schema` means nothing",
            ),
            ("stop: 3\n", "agent.yaml:1: "),
            (
                "stop:\n  - type: builtin\n    command: http_post\n",
                ":2: http_post needs",
            ),
        ];
        for (text, expected) in table {
            let told = fault(text);
            assert!(told.contains(expected), "{text}\n{told}\n{expected}");
        }
    }
}
