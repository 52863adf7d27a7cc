//! The schemas of plugins: `PLUGIN --schema`, an object or a list of objects.
//!
//! A schema is read as leniently as chibi reads it: a tool needs a name and a description, and errors in the rest are
//! only remarks. Hooks are the exception, since a guard may be among them: if they cannot be read, or a name is almost
//! that of a guard, the whole schema is an error.

use std::path::Path;
use std::time::Duration;

use becket_dialect_kit::misspelt_guard;
use becket_events::Class;
use becket_hooks::{Invocation, Lane, keys_of, nearest};
use serde_json::{Map, Value};

use super::call::{Call, lane};
use super::discovery::Candidate;
use super::hooks::hooks;
use super::plugin::{HostFacts, PluginTool};

/// Asks a plugin for its schema.
pub(super) async fn ask(
    candidate: &Candidate,
    host: &HostFacts,
    directory: &Path,
    timeout: Duration,
) -> Result<Value, String> {
    let invocation = Invocation {
        input: "".into(),
        environment: Vec::new(),
        directory: directory.to_path_buf(),
        timeout,
    };
    let finished = lane(&candidate.path, host, Call::Schema).run(invocation).await;
    let finished = finished.map_err(|failure| told(&failure, &failure.stderr))?;
    if finished.code != 0 {
        return Err(told(&format!("exit code {}", finished.code), &finished.stderr));
    }
    let text = String::from_utf8(finished.stdout)
        .map_err(|error| format!("its answer is not UTF-8 text: {}", error.utf8_error()))?;
    serde_json::from_str(&text).map_err(|error| format!("its answer is not JSON: {error}"))
}

fn told(what: &(impl std::fmt::Display + ?Sized), stderr: &str) -> String {
    match stderr.trim().lines().next_back() {
        Some(last) => format!("{what} ({last})"),
        None => what.to_string(),
    }
}

/// The tools of a schema, with remarks on errors. A schema without any tool is an error.
pub(super) fn read(schema: &Value) -> Result<(Vec<PluginTool>, Vec<String>), String> {
    let mut remarks = Vec::new();
    let tools: Vec<PluginTool> = match schema {
        Value::Array(items) => {
            let mut tools = Vec::new();
            for (index, item) in items.iter().enumerate() {
                match tool(item, &mut remarks) {
                    Ok(tool) => tools.push(tool),
                    Err(error) => {
                        let words = format!("tool {} of its schema: {error}", index + 1);
                        match has_no_hooks(item) {
                            true => remarks.push(words),
                            false => return Err(words),
                        }
                    }
                }
            }
            tools
        }
        single => vec![tool(single, &mut remarks)?],
    };
    match (tools.is_empty(), remarks.is_empty()) {
        (true, true) => Err("its schema is an empty list".into()),
        (true, false) => Err(remarks.join("; ")),
        (false, _) => Ok((tools, remarks)),
    }
}

fn tool(item: &Value, remarks: &mut Vec<String>) -> Result<PluginTool, String> {
    let Value::Object(fields) = item else {
        return Err(format!("a schema is an object, not {}", beginning(item)));
    };
    let text = |name: &str| match fields.get(name) {
        Some(Value::String(text)) if !text.is_empty() || name != "name" => Ok(text.clone()),
        Some(other) => Err(format!("`{name}` must be a text, not {}", beginning(other))),
        None => Err(missing(name, fields)),
    };
    let (name, description) = (text("name")?, text("description")?);
    let mut options = Options {
        tool: &name,
        fields,
        remarks,
    };
    Ok(PluginTool {
        parameters: options.parameters(),
        hooks: options.hooks()?,
        parallel: options.truth("parallel", true),
        flow_control: options.truth("flow_control", false),
        ends_turn: options.truth("ends_turn", false),
        summary_params: options.words("summary_params"),
        name,
        description,
    })
}

/// The optional fields of a tool. A wrong one causes a remark and counts as absent.
struct Options<'a> {
    tool: &'a str,
    fields: &'a Map<String, Value>,
    remarks: &'a mut Vec<String>,
}

impl Options<'_> {
    fn parameters(&mut self) -> Value {
        match self.fields.get("parameters") {
            None | Some(Value::Null) => Value::Null,
            Some(object @ Value::Object(_)) => object.clone(),
            Some(other) => {
                self.wrong("parameters", "a JSON Schema", other);
                Value::Null
            }
        }
    }

    fn truth(&mut self, name: &str, usual: bool) -> bool {
        match self.fields.get(name) {
            None | Some(Value::Null) => usual,
            Some(Value::Bool(truth)) => *truth,
            Some(other) => {
                self.wrong(name, "true or false", other);
                usual
            }
        }
    }

    fn words(&mut self, name: &str) -> Vec<String> {
        let items = match self.fields.get(name) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Array(items)) => items,
            Some(other) => {
                self.wrong(name, "a list of names", other);
                return Vec::new();
            }
        };
        let mut words: Vec<String> = Vec::new();
        for item in items {
            match item {
                Value::String(word) if !words.contains(word) => words.push(word.clone()),
                Value::String(_) => {}
                other => self.wrong(name, "a list of names", other),
            }
        }
        words
    }

    /// The hooks. No error in them is ignored: a name that cannot be read, or that is almost that of a guard, may be a
    /// guard.
    fn hooks(&mut self) -> Result<Vec<String>, String> {
        let mut others = self.fields.keys().filter(|field| *field != "hooks");
        if let Some(other) = others.find(|field| speaks_of_hooks(field)) {
            return Err(format!("there is no field `{other}`; did you mean `hooks`?"));
        }
        let before = self.remarks.len();
        let hooks = self.words("hooks");
        if self.remarks.len() > before {
            return Err(self.remarks.split_off(before).join("; "));
        }
        let unknown = hooks.iter().find_map(|name| Some((name, misspelt(name)?)));
        match unknown {
            Some((name, guard)) => Err(format!(
                "it wants the hook `{name}`, which does not exist; did you mean `{guard}`?"
            )),
            None => Ok(hooks),
        }
    }

    fn wrong(&mut self, name: &str, expected: &str, found: &Value) {
        self.remarks.push(format!(
            "`{name}` of the tool {} must be {expected}, not {}; it is left out",
            self.tool,
            beginning(found)
        ));
    }
}

/// Whether an item of a schema that cannot be read surely brings no hooks.
fn has_no_hooks(item: &Value) -> bool {
    match item {
        Value::Object(fields) => !fields.keys().any(|field| speaks_of_hooks(field)),
        _ => false,
    }
}

fn speaks_of_hooks(field: &str) -> bool {
    field.to_ascii_lowercase().contains("hook")
}

/// The guard whose name is almost the given one.
fn misspelt(name: &str) -> Option<&'static str> {
    let hooks = hooks();
    match hooks.iter().any(|hook| hook.name() == name) {
        true => None,
        false => misspelt_guard(
            name,
            hooks
                .iter()
                .map(|hook| (hook.name(), hook.class() == Class::Guard)),
        ),
    }
}

fn missing(name: &str, fields: &Map<String, Value>) -> String {
    let unknown = fields
        .keys()
        .map(String::as_str)
        .filter(|field| !keys_of::<PluginTool>().contains(field));
    match nearest(name, unknown) {
        Some(near) => format!("`{name}` is missing; did you write it as `{near}`?"),
        None => format!("`{name}` is missing"),
    }
}

/// The first characters of a value, for a message.
fn beginning(value: &Value) -> String {
    let text = value.to_string();
    let mut words: String = text.chars().take(40).collect();
    if words.len() < text.len() {
        words.push('…');
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn an_object_or_a_list_with_everything_or_with_the_least() {
        let whole = json!({
            "name": "a", "description": "", "parameters": {"type": "object"}, "hooks": ["on_start", "on_start"],
            "parallel": false, "flow_control": true, "ends_turn": true, "summary_params": ["path"], "more": 1
        });
        let (tools, remarks) = read(&json!([whole, {"name": "b", "description": "d"}])).unwrap();
        assert!(remarks.is_empty(), "{remarks:?}");
        assert_eq!(tools[0].hooks, ["on_start"]);
        assert!(!tools[0].parallel && tools[0].flow_control && tools[0].ends_turn);
        assert_eq!(tools[0].summary_params, ["path"]);
        assert!(tools[1].parallel && !tools[1].flow_control && tools[1].parameters.is_null());
    }

    #[test]
    fn what_is_wrong_is_told_and_the_rest_counts() {
        let (tools, remarks) = read(&json!([
            {"name": "a"},
            {"name": "b", "description": "d", "parallel": "yes", "parameters": [],
             "summary_params": [1, "x"]}
        ]))
        .unwrap();
        assert_eq!(tools.len(), 1);
        assert_eq!(tools[0].summary_params, ["x"]);
        for words in [
            "tool 1 of its schema: `description` is missing",
            "`parallel` of the tool b must be true or false",
            "`parameters` of the tool b must be a JSON Schema",
            "`summary_params` of the tool b must be a list of names, not 1",
        ] {
            assert!(
                remarks.iter().any(|remark| remark.contains(words)),
                "{words}: {remarks:?}"
            );
        }
    }

    #[test]
    fn without_a_tool_it_is_an_error() {
        let table = [
            (json!([]), "empty list"),
            (json!({}), "`name` is missing"),
            (json!({"name": "", "description": "d"}), "`name` must be a text"),
            (
                json!({"name": 1, "description": "d"}),
                "`name` must be a text, not 1",
            ),
            (
                json!({"name": "a", "descripton": "d"}),
                "did you write it as `descripton`?",
            ),
            (json!("x"), "a schema is an object"),
            (json!([null]), "not null"),
        ];
        for (schema, words) in table {
            let error = read(&schema).unwrap_err();
            assert!(error.contains(words), "{schema}: {error}");
        }
    }

    #[test]
    fn where_a_guard_may_hide_nothing_is_left_out() {
        let with = |field: &str, value: Value| json!({"name": "a", "description": "d", field: value});
        let table = [
            (with("hooks", json!("pre_tool")), "must be a list of names"),
            (with("hooks", json!(["on_start", 7])), "must be a list of names"),
            (with("hooks", json!(["pre_tol"])), "did you mean `pre_tool`?"),
            (with("hooks", json!(["PreTools"])), "did you mean `pre_tool`?"),
            (
                with("hooks", json!(["pre_shell_exce"])),
                "did you mean `pre_shell_exec`?",
            ),
            (with("hook", json!(["pre_tool"])), "did you mean `hooks`?"),
            (
                json!([with("hooks", json!([])), 7]),
                "tool 2 of its schema: a schema is an object",
            ),
            (
                json!([with("hooks", json!([])), {"hooks": ["pre_tool"]}]),
                "`name` is missing",
            ),
        ];
        for (schema, words) in table {
            let error = read(&schema).unwrap_err();
            assert!(error.contains(words), "{schema}: {error}");
        }
        assert!(
            read(&with("hooks", json!(["post_tol", "on_moon"]))).is_ok(),
            "no guard is called so"
        );
    }

    fn anything() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-z_]{0,8}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            let name = prop_oneof![
                prop::sample::select(keys_of::<PluginTool>()).prop_map(str::to_owned),
                "[a-z]{1,4}".prop_map(|name| name)
            ];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(name, inner, 0..6)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_a_plugin_prints_is_read_or_refused(schema in anything()) {
            match read(&schema) {
                Ok((tools, _)) => prop_assert!(tools.iter().all(|tool| !tool.name.is_empty())),
                Err(error) => prop_assert!(!error.is_empty()),
            }
        }
    }
}
