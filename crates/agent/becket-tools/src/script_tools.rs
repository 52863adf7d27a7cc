//! Tools that are commands with a name: each runs one command of the shell, and its arguments are variables of it.
//!
//! The command is a call within the call. The values stand in its text, quoted, so that what is judged as a command is
//! all that runs. The user is asked about the tool by its name; guards and rules about commands judge it as well.

use std::collections::BTreeMap;
use std::sync::Arc;

use becket_agent::Parent;
use becket_agent::gate::Permit;
use becket_agent::tool::{Tool, ToolOutput, ToolRun, ToolSpec};
use becket_events::{OperationKind, Profile};
use futures_util::future::BoxFuture;
use serde_json::{Map, Value, json};

use crate::operation_tool::operation_tools;
use crate::plain_tool::spec;
use crate::settings::ToolSettings;

/// A command with a name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Script {
    /// The tool's name.
    pub name: String,
    /// The command.
    pub command: String,
    /// What the tool does; default: the command.
    pub description: Option<String>,
    /// The arguments, each with its JSON Schema. One without a type is a text.
    pub arguments: Map<String, Value>,
    /// The names of the required arguments; default: all.
    pub required: Option<Vec<String>>,
    /// Further environment variables, which are neither judged nor shown.
    pub environment: BTreeMap<String, String>,
    /// The directory in which the command runs; default: the working directory.
    pub directory: Option<String>,
}

impl Script {
    /// Checks the script; the error says what is wrong with it.
    fn check(&self) -> Result<(), String> {
        let Self { name, arguments, .. } = self;
        let wrong = |what: String| Err(format!("the script tool `{name}` {what}"));
        if self.command.trim().is_empty() || self.command.contains('\0') {
            return wrong("has no command".to_owned());
        }
        for variable in arguments.keys().chain(self.environment.keys()) {
            if !is_variable(variable) {
                return wrong(format!(
                    "has an argument `{variable}`, which is no name of a variable"
                ));
            }
        }
        if let Some(both) = arguments.keys().find(|name| self.environment.contains_key(*name)) {
            return wrong(format!(
                "has `{both}` both as an argument and in its environment; rename one"
            ));
        }
        let required = self.required.iter().flatten();
        if let Some(missing) = required.into_iter().find(|name| !arguments.contains_key(*name)) {
            return wrong(format!("requires `{missing}`, which is none of its arguments"));
        }
        if self.environment.values().any(|value| value.contains('\0')) {
            return wrong("has a NUL character in its environment".to_owned());
        }
        Ok(())
    }

    fn required(&self) -> Vec<&String> {
        match &self.required {
            Some(required) => required.iter().collect(),
            None => self.arguments.keys().collect(),
        }
    }

    fn schema(&self) -> Value {
        let property = |(name, schema): (&String, &Value)| {
            let mut schema = schema.clone();
            if let Some(fields) = schema.as_object_mut() {
                fields.entry("type").or_insert_with(|| "string".into());
            }
            (name.clone(), schema)
        };
        let properties: Map<String, Value> = self.arguments.iter().map(property).collect();
        json!({"type": "object", "properties": properties, "required": self.required()})
    }

    /// The whole command line: the values of the arguments, then the command.
    fn text(&self, arguments: &Map<String, Value>) -> Result<String, String> {
        let name = &self.name;
        if let Some(unknown) = arguments.keys().find(|key| !self.arguments.contains_key(*key)) {
            let known: Vec<&str> = self.arguments.keys().map(String::as_str).collect();
            return Err(format!(
                "{name} has no argument `{unknown}`; it takes: {}",
                known.join(", ")
            ));
        }
        let is_there = |key: &str| arguments.get(key).is_some_and(|value| !value.is_null());
        if let Some(missing) = self.required().into_iter().find(|key| !is_there(key)) {
            return Err(format!("{name} needs the argument `{missing}`"));
        }
        let mut text = String::new();
        for (variable, value) in arguments.iter().filter(|(_, value)| !value.is_null()) {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if value.contains('\0') {
                return Err(format!(
                    "the argument `{variable}` of {name} holds a NUL character"
                ));
            }
            text.push_str(&format!("export {variable}='{}'\n", value.replace('\'', "'\\''")));
        }
        Ok(text + &self.command)
    }
}

fn is_variable(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(is_letter)
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit())
}

/// The tools of some scripts; the error says what is wrong with one of them. Their commands are judged by the names
/// that the profile has for running commands.
pub fn script_tools(
    profile: &Profile,
    settings: &ToolSettings,
    scripts: Vec<Script>,
) -> Result<Vec<Arc<dyn Tool>>, String> {
    let tool = |script: Script| {
        script.check()?;
        Ok(Arc::new(ScriptTool::new(profile, settings, script)) as Arc<dyn Tool>)
    };
    scripts.into_iter().map(tool).collect()
}

struct ScriptTool {
    spec: ToolSpec,
    script: Script,
    shell: Arc<dyn Tool>,
}

impl ScriptTool {
    fn new(profile: &Profile, settings: &ToolSettings, script: Script) -> Self {
        let about = script.description.clone();
        let about = about.unwrap_or_else(|| format!("Run the command: {}", script.command));
        let mut settings = settings.clone();
        let variables = script.environment.iter();
        settings
            .environment
            .extend(variables.map(|(name, value)| (name.into(), value.into())));
        let is_shell = |tool: &Arc<dyn Tool>| tool.spec().operation == Some(OperationKind::Shell);
        let known = operation_tools(profile, settings.clone())
            .into_iter()
            .find(is_shell);
        let own = || {
            operation_tools(&Profile::own(), settings)
                .into_iter()
                .find(is_shell)
        };
        let shell = known
            .or_else(own)
            .expect("becket's own profile has every operation");
        let mut spec = spec(&script.name, &about, script.schema());
        spec.read_only = false;
        Self {
            spec,
            shell: Arc::new(Spared::new(shell)),
            script,
        }
    }

    async fn perform(&self, permit: &Permit, parent: Option<&Parent>) -> ToolOutput {
        let Some(parent) = parent else {
            return ToolOutput::error("Nothing was done: no session makes this call.");
        };
        let command = match self.script.text(permit.arguments()) {
            Ok(command) => command,
            Err(words) => return ToolOutput::error(words),
        };
        let mut arguments = Map::from_iter([("command".to_owned(), Value::from(command))]);
        if let Some(directory) = &self.script.directory {
            arguments.insert("cwd".to_owned(), directory.clone().into());
        }
        let call = parent
            .call(Arc::clone(&self.shell), &arguments, permit.tool_call_id())
            .await;
        ToolOutput {
            is_error: call.is_error,
            ..ToolOutput::text(call.output)
        }
    }
}

impl Tool for ScriptTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        self.script.text(&arguments)?;
        Ok(arguments)
    }

    fn makes_calls(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move { self.perform(&permit, run.parent.as_ref()).await })
    }
}

/// A command that the user was already asked about, by the name of its tool. Inside the working directory there is no
/// second question; hooks and rules judge it as any command.
struct Spared {
    spec: ToolSpec,
    tool: Arc<dyn Tool>,
}

impl Spared {
    fn new(tool: Arc<dyn Tool>) -> Self {
        let mut spec = tool.spec().clone();
        spec.read_only = true;
        Self { spec, tool }
    }
}

impl Tool for Spared {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn normalise(&self, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
        self.tool.normalise(arguments)
    }

    fn run<'a>(&'a self, permit: Permit, run: ToolRun) -> BoxFuture<'a, ToolOutput> {
        self.tool.run(permit, run)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn script(command: &str, arguments: Value) -> Script {
        Script {
            name: "greet".into(),
            command: command.into(),
            arguments: arguments.as_object().unwrap().clone(),
            ..Script::default()
        }
    }

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn scripts_that_make_no_sense_are_named() {
        let table = [
            (script(" ", json!({})), "has no command"),
            (
                script("x", json!({"a-b": {}})),
                "`a-b`, which is no name of a variable",
            ),
            (script("x", json!({"1a": {}})), "`1a`, which is no name"),
            (
                Script {
                    required: Some(vec!["b".into()]),
                    ..script("x", json!({"a": {}}))
                },
                "requires `b`",
            ),
            (
                Script {
                    environment: BTreeMap::from([("a".into(), "1".into())]),
                    ..script("x", json!({"a": {}}))
                },
                "both as an argument and in its environment",
            ),
        ];
        for (script, words) in table {
            let error = script_tools(&Profile::own(), &ToolSettings::default(), vec![script]);
            let error = error.map(|tools| tools.len()).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn arguments_that_make_no_sense_are_named() {
        let script = script(
            "echo $name",
            json!({"name": {"description": "Whom."}, "count": {"type": "integer"}}),
        );
        for (arguments, words) in [
            (json!({"name": "x"}), "needs the argument `count`"),
            (json!({"name": null, "count": 1}), "needs the argument `name`"),
            (
                json!({"name": "x", "count": 1, "PATH": "/"}),
                "no argument `PATH`; it takes: name, count",
            ),
            (json!({"name": "a\u{0}b", "count": 1}), "NUL"),
        ] {
            let error = script.text(&object(arguments)).unwrap_err();
            assert!(error.contains(words), "{error}");
        }
        let text = script.text(&object(json!({"name": "it's", "count": 3}))).unwrap();
        assert_eq!(text, "export name='it'\\''s'\nexport count='3'\necho $name");
        assert_eq!(script.schema()["properties"]["name"]["type"], "string");
        assert_eq!(script.schema()["required"], json!(["name", "count"]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn no_value_is_more_than_a_value(value in "[^\0]{0,40}") {
            let script = script("printf %s \"$name\"", json!({"name": {}}));
            let text = script.text(&object(json!({"name": value}))).unwrap();
            let ran = std::process::Command::new("/bin/sh").args(["-c", &text]).output().unwrap();
            prop_assert_eq!(String::from_utf8(ran.stdout).unwrap(), value);
        }
    }
}
