//! Profiles: the names and schemas by which a model, or a foreign hook, knows becket's operations.
//!
//! A profile is a table of faces. A face changes names and wording and nothing else: `to_own` turns arguments into
//! becket's terms, `to_foreign` turns them back, and `output` words the result of the call. An argument that a foreign
//! schema has no name for keeps its own, so that nothing gets lost on a round trip.
//!
//! A default of a foreign schema counts for a model's call, and not for the arguments that a hook writes: a hook that
//! was shown a whole file and leaves the length out means the whole file.

use serde_json::{Map, Value};

use crate::finding::Finding;
use crate::operation::{Operation, OperationKind, Replacement};
use crate::schema::Schema;

/// becket's own tools that are not operations, by name. Every model that is offered one of them sees it under this
/// name.
pub const OWN_EXTRAS: &[&str] = &[
    "update_todos",
    "update_goals",
    "update_reflection",
    "send_message",
    "flock_join",
    "flock_leave",
    "flock_list",
    "index_update",
    "index_query",
    "index_status",
    "index_map",
    "spawn_agent",
    "summarize_content",
    "transfer_task",
    "handoff",
    "scheme_eval",
];

/// The tools for background jobs, which only a profile needs that can start some.
pub const JOB_EXTRAS: &[&str] = &[
    "list_background_jobs",
    "view_background_job",
    "stop_background_job",
];

/// A set of names and schemas for becket's operations.
#[derive(Debug, Clone)]
pub struct Profile {
    /// The profile's name, as in `--tools NAME`.
    pub name: &'static str,
    /// The tools. Several may stand for one operation; a call is shown by the first that can express it exactly.
    pub faces: Vec<Face>,
    /// The operations for which this system has no tool.
    pub absent: Vec<OperationKind>,
    /// becket's tools without an operation that are offered beside the faces, under the same name everywhere.
    pub extras: Vec<&'static str>,
    /// What the model is told about calls that do not run.
    pub wording: Wording,
    /// How operations are carried out.
    pub manner: Manner,
    /// Tools that stand for several calls at once. A plural named like a face replaces it for arguments that mean
    /// several calls.
    pub plurals: Vec<Plural>,
}

/// How operations are carried out where agents differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// The program that runs commands; `/bin/sh` if it is missing.
    pub shell: &'static str,
    /// Whether the old text of an edit that does not occur is looked for with other quotes, dashes and spaces.
    pub forgives_typography: bool,
    /// Whether an edit may replace a text by the same text, which changes nothing.
    pub allows_same_text: bool,
}

impl Default for Manner {
    fn default() -> Self {
        Self {
            shell: "/bin/sh",
            forgives_typography: false,
            allows_same_text: false,
        }
    }
}

/// What the model is told about calls that do not run, and about outputs of commands that are too long.
#[derive(Debug, Clone, Copy)]
pub struct Wording {
    /// Words the refusal of a call, given the reason.
    pub refused: fn(&str) -> String,
    /// Words the answer to a call of an unknown tool, given its name and a hint that may be empty.
    pub unknown_tool: fn(&str, &str) -> String,
    /// How much of the end of a command's output is shown; without a limit, large outputs get a preview.
    pub tail: Option<TailLimit>,
    /// Corrects arguments that a model wrote for a tool with this name and schema, or says what is wrong with them.
    /// Without it, arguments are checked against the schema and becket words the error.
    pub settle: Option<Settle>,
}

/// Corrects a call's arguments for the tool with this name and schema, or returns what the model is told.
pub type Settle = fn(&str, &Value, Map<String, Value>) -> Result<Map<String, Value>, String>;

/// How much is shown of the end of an output, and how.
#[derive(Debug, Clone, Copy)]
pub struct TailLimit {
    /// The largest number of lines shown.
    pub lines: usize,
    /// The largest number of bytes shown.
    pub bytes: usize,
    /// Words the end of the output, and where all of the output is.
    pub told: fn(&Tail<'_>) -> String,
}

/// The end of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail<'a> {
    /// The last lines, or the end of the last one.
    pub text: &'a str,
    /// The number of the first line in `text`, counted from 1.
    pub first_line: usize,
    /// How many lines the whole output has.
    pub lines: usize,
    /// Which limit left out the rest.
    pub cut: TailCut,
    /// Where all of the output is.
    pub address: &'a str,
}

/// Which limit keeps an output from being shown as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TailCut {
    /// The output has too many lines.
    Lines,
    /// The output has too many bytes.
    Bytes,
    /// The last line alone has too many bytes.
    Line,
}

impl TailLimit {
    /// Whether a text is too long to be shown as a whole.
    pub fn cuts(&self, text: &str) -> bool {
        text.len() > self.bytes || text.lines().count() > self.lines
    }

    /// The end of a text that is too long.
    pub fn tail<'a>(&self, text: &'a str, address: &'a str) -> Tail<'a> {
        let lines = text.lines().count();
        let last_line = text.lines().next_back().unwrap_or_default();
        let (shown, cut) = match last_line.len() > self.bytes {
            true => (end_of(text, self.bytes), TailCut::Line),
            false => self.last_lines(text, lines),
        };
        Tail {
            text: shown,
            first_line: lines + 1 - shown.lines().count().max(1),
            lines,
            cut,
            address,
        }
    }

    fn last_lines<'a>(&self, text: &'a str, lines: usize) -> (&'a str, TailCut) {
        let mut begins = text.len();
        for (count, line) in text.split_inclusive('\n').rev().enumerate() {
            if count == self.lines {
                break;
            }
            if text.len() - (begins - line.len()) > self.bytes {
                return (&text[begins..], TailCut::Bytes);
            }
            begins -= line.len();
        }
        let cut = if lines > self.lines {
            TailCut::Lines
        } else {
            TailCut::Bytes
        };
        (&text[begins..], cut)
    }
}

/// The last bytes of a text, without half of a character.
fn end_of(text: &str, bytes: usize) -> &str {
    let begin = text.len().saturating_sub(bytes);
    let begin = (begin..text.len()).find(|place| text.is_char_boundary(*place));
    &text[begin.unwrap_or(text.len())..]
}

impl Default for Wording {
    fn default() -> Self {
        Self {
            refused: |reason| format!("refused: {reason}"),
            unknown_tool: |name, hint| format!("there is no tool `{name}`{hint}"),
            tail: None,
            settle: None,
        }
    }
}

/// A tool that stands for several calls of one operation. Each of them is judged, reported and answered like a call
/// that the model makes alone.
#[derive(Debug, Clone)]
pub struct Plural {
    /// The tool's name.
    pub name: &'static str,
    /// What the tool does, in one or two sentences for the model.
    pub description: &'static str,
    /// The JSON Schema of the tool's arguments.
    pub parameters: Schema,
    /// The operation of each single call, or of most of them.
    pub operation: OperationKind,
    /// Splits the tool's arguments into calls in becket's terms, or says what is wrong with them.
    pub apart: Apart,
    /// Words the outcome of all calls together.
    pub together: Together,
    /// What happens to the remaining calls when one has failed.
    pub after_failure: AfterFailure,
}

/// Splits the arguments of several calls, in becket's terms for each, or says what is wrong with them.
pub type Apart = fn(&Map<String, Value>) -> Result<Vec<SingleCall>, String>;

/// One of the calls for which a tool stands.
#[derive(Debug, Clone, PartialEq)]
pub struct SingleCall {
    /// The operation.
    pub operation: OperationKind,
    /// The arguments in becket's terms.
    pub arguments: Map<String, Value>,
    /// The file whose content, with these pieces replaced, is what the call writes. It is read, and judged as reading,
    /// before all calls.
    pub content_of: Option<(String, Vec<Replacement>)>,
}

impl SingleCall {
    /// A call that needs nothing but its arguments.
    pub fn new(operation: OperationKind, arguments: Map<String, Value>) -> Self {
        Self {
            operation,
            arguments,
            content_of: None,
        }
    }
}

/// Words the outcome of several calls together.
pub type Together = fn(&Map<String, Value>, &[Answered]) -> String;

/// One of several calls, with its outcome.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The call's operation.
    pub operation: OperationKind,
    /// The call's arguments in becket's terms.
    pub arguments: Map<String, Value>,
    /// The call's output, or why it has none.
    pub output: String,
    /// Whether the call failed or was refused.
    pub is_error: bool,
}

/// What happens to the remaining calls when one has failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// The remaining calls are made all the same.
    GoOn,
    /// The remaining calls are not made, and the whole has failed.
    Stop,
    /// So, and no call is made before all of them are judged: if one is refused, none is made.
    StopBefore,
}

/// Turns arguments in a face's terms into becket's, or says what is wrong with them.
pub type ToOwn = fn(Map<String, Value>) -> Result<Map<String, Value>, String>;

/// Turns arguments in becket's terms into a face's.
pub type ToForeign = fn(&Map<String, Value>) -> Map<String, Value>;

/// Words the result of an operation as a face does.
pub type ToOutput = fn(&Operation, &Finding) -> String;

/// One tool of a profile.
#[derive(Debug, Clone)]
pub struct Face {
    /// The tool's name.
    pub name: &'static str,
    /// What the tool does, in one or two sentences for the model.
    pub description: &'static str,
    /// The JSON Schema of the tool's arguments.
    pub parameters: Schema,
    /// The operation that the tool stands for.
    pub operation: OperationKind,
    /// Turns this tool's arguments into becket's terms.
    pub to_own: ToOwn,
    /// Turns arguments in becket's terms into this tool's.
    pub to_foreign: ToForeign,
    /// Words the result as this tool does, if that differs from becket's own wording.
    pub output: Option<Telling>,
}

/// How a face words results.
#[derive(Debug, Clone, Copy)]
pub struct Telling {
    /// The function that words a result.
    pub words: ToOutput,
    /// Whether the function wants a command's two outputs together or apart.
    pub streams: Streams,
}

/// Whether a command's standard output and standard error share a pipe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streams {
    /// Both outputs share one pipe, so that their order stays.
    Together,
    /// Each output has its own pipe.
    Apart,
}

impl Telling {
    /// Wording for a result; a command's two outputs stay together.
    pub fn new(words: ToOutput) -> Self {
        Self {
            words,
            streams: Streams::Together,
        }
    }

    /// This wording with a command's two outputs kept apart.
    pub fn apart(self) -> Self {
        Self {
            streams: Streams::Apart,
            ..self
        }
    }
}

impl Profile {
    /// becket's own profile: every operation under its own name, but for what a command does as well.
    pub fn own() -> Self {
        let absent = vec![OperationKind::Remove];
        let offered = OperationKind::ALL.iter().filter(|kind| !absent.contains(kind));
        Self {
            name: "becket",
            faces: offered.map(|kind| Face::own(*kind)).collect(),
            absent,
            extras: [OWN_EXTRAS, JOB_EXTRAS].concat(),
            wording: Wording::default(),
            manner: Manner::default(),
            plurals: Vec::new(),
        }
    }

    /// The face with this name.
    pub fn face_named(&self, name: &str) -> Option<&Face> {
        self.faces.iter().find(|face| face.name == name)
    }

    /// The operation of the tool with this name, whether it stands for one call or several.
    pub fn operation_of(&self, name: &str) -> Option<OperationKind> {
        let plural = self.plurals.iter().find(|plural| plural.name == name);
        let several = plural.map(|plural| plural.operation);
        self.face_named(name).map(|face| face.operation).or(several)
    }

    /// The face that shows a call best: the first that expresses it exactly, else the first of the operation.
    pub fn face_for(&self, operation: OperationKind, arguments: &Map<String, Value>) -> Option<&Face> {
        let mut candidates = self.faces.iter().filter(|face| face.operation == operation);
        let first = candidates.clone().next()?;
        Some(candidates.find(|face| face.expresses(arguments)).unwrap_or(first))
    }
}

impl Face {
    /// An operation under becket's own names.
    pub fn own(operation: OperationKind) -> Self {
        Self {
            name: operation.name(),
            description: operation.description(),
            parameters: operation.schema(),
            operation,
            to_own: Ok,
            to_foreign: Map::clone,
            output: None,
        }
    }

    /// Whether arguments in becket's terms survive the round trip through this face unchanged.
    pub fn expresses(&self, own: &Map<String, Value>) -> bool {
        (self.to_own)((self.to_foreign)(own)).is_ok_and(|back| back == *own)
    }

    /// Whether a name is one of this face's arguments, in its own terms or in becket's. Other names mean nothing here.
    pub fn knows(&self, name: &str) -> bool {
        self.parameters["properties"].get(name).is_some() || self.operation.argument_names().contains(&name)
    }

    /// Reads a call of a model that knows only this face: omitted arguments get the defaults of its schema.
    pub fn read_call(&self, arguments: Map<String, Value>) -> Result<Operation, String> {
        self.read_as(arguments, |own| self.with_defaults(own))
    }

    /// Reads arguments written in this face's terms, such as the rewrite of a call that was made in other terms. The
    /// error names the argument and what is expected.
    pub fn read(&self, arguments: Map<String, Value>) -> Result<Operation, String> {
        self.read_as(arguments, |own| own)
    }

    fn read_as(
        &self,
        mut arguments: Map<String, Value>,
        complete: impl Fn(Map<String, Value>) -> Map<String, Value>,
    ) -> Result<Operation, String> {
        self.settle_types(&mut arguments);
        let written = arguments.clone();
        (self.to_own)(arguments)
            .map(complete)
            .and_then(|own| self.operation.read(own).map_err(|error| error.to_string()))
            .map_err(|error| format!("{}. {}", self.fault(&written).unwrap_or(error), self.usage()))
    }

    /// Corrects the types of arguments: models write numbers and booleans as text, and whole numbers with a fraction of
    /// zero. If the schema wants a number or a boolean and the meaning is beyond doubt, the value is converted.
    fn settle_types(&self, arguments: &mut Map<String, Value>) {
        for (name, value) in arguments {
            let Some(property) = self.parameters["properties"].get(name.as_str()) else {
                continue;
            };
            let settled = match (&*value, types_of(property).first().copied()) {
                (Value::String(text), Some("integer")) => text.trim().parse::<u64>().ok().map(Value::from),
                (Value::String(text), Some("boolean")) => text.trim().parse::<bool>().ok().map(Value::from),
                (Value::Number(number), Some("integer")) => number.as_f64().and_then(whole).map(Value::from),
                _ => None,
            };
            if let Some(settled) = settled {
                *value = settled;
            }
        }
    }

    /// Arguments in becket's terms, with the schema's defaults for those that are omitted.
    fn with_defaults(&self, mut own: Map<String, Value>) -> Map<String, Value> {
        let properties = self.parameters["properties"].as_object();
        let defaults: Map<String, Value> = properties
            .into_iter()
            .flatten()
            .filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())))
            .filter(|(_, default)| !default.is_null())
            .collect();
        if defaults.is_empty() {
            return own;
        }
        for (name, default) in (self.to_own)(defaults).unwrap_or_default() {
            let value = own.entry(name).or_insert(Value::Null);
            if value.is_null() {
                *value = default;
            }
        }
        own
    }

    /// Describes the first argument that does not fit the schema.
    fn fault(&self, arguments: &Map<String, Value>) -> Option<String> {
        let properties = self.parameters["properties"].as_object()?;
        for (name, property) in properties {
            let Some(value) = arguments.get(name) else {
                continue;
            };
            let types = types_of(property);
            if !types.is_empty() && !types.contains(&type_of(value)) && !value.is_null() {
                return Some(format!(
                    "argument `{name}` must be of type {}, not {}",
                    types[0],
                    type_of(value)
                ));
            }
        }
        let required = self.parameters["required"].as_array()?;
        let missing = required.iter().filter_map(Value::as_str);
        let nothing_unknown = arguments.keys().all(|name| properties.contains_key(name));
        missing
            .filter(|_| nothing_unknown)
            .find(|name| !arguments.contains_key(*name))
            .map(|name| format!("argument `{name}` is missing"))
    }

    /// The tool's arguments in one line.
    fn usage(&self) -> String {
        let required = |name: &str| {
            self.parameters["required"]
                .as_array()
                .is_some_and(|required| required.iter().any(|entry| entry == name))
        };
        let empty = Map::new();
        let properties = self.parameters["properties"].as_object().unwrap_or(&empty);
        let arguments: Vec<String> = properties
            .iter()
            .map(|(name, property)| {
                let kind = types_of(property).first().copied().unwrap_or("any").to_owned();
                let optional = if required(name) { "" } else { ", optional" };
                format!("{name} ({kind}{optional})")
            })
            .collect();
        format!("{} takes: {}", self.name, arguments.join(", "))
    }
}

/// The JSON types that a property accepts, `null` left out.
fn types_of(property: &Value) -> Vec<&str> {
    let types = match &property["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    types.into_iter().filter(|name| *name != "null").collect()
}

/// The JSON type of a value.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_u64() || number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A number as an integer, if nothing is lost.
fn whole(number: f64) -> Option<u64> {
    // The largest float below which every whole number is exact: 2^53.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    ((0.0..=EXACT).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn object(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn read(tool: &str, arguments: Value) -> Result<Value, String> {
        let profile = Profile::own();
        let face = profile.face_named(tool).unwrap();
        face.read(object(arguments))
            .map(|operation| Value::Object(operation.arguments()))
    }

    #[test]
    fn the_own_profile_has_every_operation_once_but_removing() {
        let profile = Profile::own();
        assert_eq!(profile.absent, [OperationKind::Remove]);
        let kinds = profile.faces.iter().map(|face| face.operation);
        let offered = OperationKind::ALL.iter().copied();
        let offered = offered.filter(|kind| !profile.absent.contains(kind));
        assert!(kinds.eq(offered));
    }

    #[test]
    fn aliases_end_when_arguments_are_read() {
        assert_eq!(
            read("shell", json!({"cmd": "ls", "timeout": 3})).unwrap(),
            json!({"command": "ls", "timeout_seconds": 3})
        );
    }

    #[test]
    fn numbers_and_truth_values_written_as_text_are_understood() {
        assert_eq!(
            read("read", json!({"path": "a", "offset": "5", "limit": 10.0})).unwrap(),
            json!({"path": "a", "offset": 5, "limit": 10})
        );
        assert_eq!(
            read("grep", json!({"pattern": "x", "literal": "true"})).unwrap(),
            json!({"pattern": "x", "literal": true})
        );
    }

    #[test]
    fn an_error_names_the_argument_and_what_is_expected() {
        let error = read("read", json!({"path": 5})).unwrap_err();
        assert!(
            error.starts_with("argument `path` must be of type string, not integer"),
            "{error}"
        );
        let error = read("read", json!({})).unwrap_err();
        assert!(error.starts_with("argument `path` is missing"), "{error}");
        assert!(
            error.contains("read takes: path (string), offset (integer, optional)"),
            "{error}"
        );
        let error = read("read", json!({"path": "a", "sudo": true})).unwrap_err();
        assert!(error.contains("sudo"), "{error}");
        let error = read("read", json!({"path": "a", "offset": -1})).unwrap_err();
        assert!(error.contains("read takes:"), "{error}");
        let error = read("edit", json!({"path": "a", "edits": [{"old_text": "x"}]})).unwrap_err();
        assert!(error.contains("new_text"), "{error}");
    }

    #[test]
    fn an_unknown_argument_is_named_before_a_missing_one() {
        let error = read("read", json!({"paht": "a"})).unwrap_err();
        assert!(error.contains("paht"), "{error}");
    }
}
