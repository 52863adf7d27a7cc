//! Scheme files of chibi's: which libraries they find, where they lie, what their tools look like to a model, and what
//! their answers mean. What runs them is the host's business; here are the tables.

mod settings;

use std::fmt::Write;

use becket_events::Class;
use becket_hooks::{Failure, nearest};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::hooks::hooks;

pub use settings::{DECLARED, FileSettings, HttpAllow, HttpSettings, Reach};

/// The field of an event that holds what a callback is shown.
pub const PAYLOAD: &str = "payload";

/// The field that names the context.
pub const CONTEXT_NAME: &str = "context_name";

/// The field that names the session.
pub const SESSION_ID: &str = "session_id";

/// The variable that holds the name of the context.
pub const CONTEXT_VARIABLE: &str = "%context-name%";

/// The tool that evaluates Scheme.
pub const EVAL_TOOL: &str = "scheme_eval";

/// What a file may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Compute, and call tools.
    Sandboxed,
    /// Read and write files, too.
    Unsandboxed,
}

/// What a procedure asks of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Whether there is such a hook.
    CheckHook,
    /// Whether a tool can be described like this.
    CheckTool,
    /// Calls a tool; takes its time.
    CallTool,
    GenerateId,
    CurrentTimestamp,
    Read,
    Write,
    Append,
    List,
    Exists,
    Delete,
    /// A request over HTTP; takes its time.
    Http,
}

/// What a file must be allowed to find a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// To read and write files.
    Files,
    /// To reach something of the web.
    Web,
}

/// A procedure of the host's.
#[derive(Debug, Clone, Copy)]
pub struct Procedure {
    pub name: &'static str,
    /// How many arguments it takes.
    pub arguments: u16,
    pub service: Service,
}

/// A library of the host's.
#[derive(Debug, Clone)]
pub struct Library {
    pub name: &'static str,
    /// Libraries whose names its definitions and exports use.
    pub imports: &'static [&'static str],
    pub procedures: &'static [Procedure],
    /// Definitions in Scheme.
    pub definitions: String,
    /// What it exports.
    pub exports: &'static str,
    /// Who finds it.
    pub needs: Needs,
}

impl Needs {
    /// Why a file does not find such a library.
    pub fn hint(self) -> &'static str {
        match self {
            Self::Nothing => "it is for everybody",
            Self::Files => "it is for files that may read and write (`tools.tiers`)",
            Self::Web => "it is for files that may reach something of the web (`tools.http.allow`)",
        }
    }
}

const BY_CALLS: &str =
    "files are read and written with call-tool, or with (harness io) where `tools.tiers` allows it";
const ITSELF: &str = "what a file needs stands in the file; it may define libraries itself";
const REGEXP: &str = "(tein safe-regexp) has regular expressions that always end";
const PROGRAMS: &str = "programs are started with call-tool";

/// Libraries that Scheme elsewhere has and no file finds, and what there is instead.
pub const BLOCKED: &[(&str, &str)] = &[
    ("(scheme file)", BY_CALLS),
    ("(tein file)", BY_CALLS),
    ("(chibi filesystem)", BY_CALLS),
    ("(scheme load)", ITSELF),
    ("(tein load)", ITSELF),
    ("(tein modules)", ITSELF),
    ("(scheme regex)", REGEXP),
    ("(srfi 115)", REGEXP),
    ("(chibi regexp)", REGEXP),
    ("(chibi process)", PROGRAMS),
    ("(chibi shell)", PROGRAMS),
    ("(chibi net)", "(tein http) makes requests"),
    ("(chibi net http)", "(tein http) makes requests"),
    ("(srfi 18)", "there are no threads"),
];

const fn procedure(name: &'static str, arguments: u16, service: Service) -> Procedure {
    Procedure {
        name,
        arguments,
        service,
    }
}

/// The library whose names every file finds without an import.
const EVERYWHERE: &str = "(harness everywhere)";

/// What every file finds without an import, besides the host's own.
pub const PRELUDE: &[&str] = &[
    "(scheme base)",
    "(scheme write)",
    "(scheme read)",
    "(scheme char)",
    "(scheme case-lambda)",
    "(scheme inexact)",
    "(scheme complex)",
    "(tein json)",
    "(tein safe-regexp)",
    "(tein docs)",
    "(tein introspect)",
    "(srfi 1)",
    "(srfi 27)",
    "(srfi 69)",
    "(srfi 95)",
    "(srfi 125)",
    "(srfi 128)",
    "(srfi 130)",
    "(srfi 132)",
    "(srfi 133)",
    "(chibi match)",
    EVERYWHERE,
];

/// The libraries of the host.
pub fn libraries() -> Vec<Library> {
    use Service::{
        Append, CallTool, CheckHook, CheckTool, CurrentTimestamp, Delete, Exists, GenerateId, List, Read,
    };
    let part = |name, exports| Library {
        name,
        imports: &["(scheme base)", EVERYWHERE],
        procedures: &[],
        definitions: String::new(),
        exports,
        needs: Needs::Nothing,
    };
    vec![
        Library {
            name: EVERYWHERE,
            imports: &["(scheme base)"],
            procedures: const {
                &[
                    procedure("%check-hook", 2, CheckHook),
                    procedure("%check-tool", 2, CheckTool),
                    procedure("call-tool", 2, CallTool),
                    procedure("generate-id", 0, GenerateId),
                    procedure("current-timestamp", 0, CurrentTimestamp),
                ]
            },
            definitions: format!("{}\n{}", include_str!("scheme/harness.scm"), hooks_docs()),
            exports: "%tool-registry% %hook-registry% define-tool register-hook hooks-docs harness-tools-docs \
                      call-tool generate-id current-timestamp exact->inexact inexact->exact",
            needs: Needs::Nothing,
        },
        part(
            "(harness tools)",
            "define-tool call-tool generate-id current-timestamp",
        ),
        part("(harness hooks)", "register-hook"),
        part("(harness docs)", "hooks-docs harness-tools-docs"),
        Library {
            name: "(harness io)",
            imports: &["(scheme base)"],
            procedures: const {
                &[
                    procedure("io-read", 1, Read),
                    procedure("io-write", 2, Service::Write),
                    procedure("io-append", 2, Append),
                    procedure("io-list", 1, List),
                    procedure("io-exists?", 1, Exists),
                    procedure("io-delete", 1, Delete),
                ]
            },
            definitions: String::new(),
            exports: "io-read io-write io-append io-list io-exists? io-delete",
            needs: Needs::Files,
        },
        Library {
            name: "(tein http)",
            imports: &["(scheme base)"],
            procedures: const { &[procedure("%http-request", 5, Service::Http)] },
            definitions: include_str!("scheme/http.scm").into(),
            exports: "http-request http-get http-post http-put http-delete",
            needs: Needs::Web,
        },
    ]
}

/// What a file may ask about hooks, from the table of hooks.
fn hooks_docs() -> String {
    let mut text = String::from(
        "(define hooks-docs '((__module__ . \"harness hooks: callbacks for moments of the agent's life\")\n  \
         (register-hook . \"(register-hook 'point (lambda (payload) answer)): the payload is an alist with strings as \
         keys, the answer one too, or '() for none\")",
    );
    for hook in hooks() {
        let doc = Value::from(hook.event().info().doc).to_string();
        let _ = write!(text, "\n  ({} . {doc})", hook.name());
    }
    text.push_str("))\n");
    text
}

/// The procedure that leaves a prompt, and the code that makes it known.
pub const LEAVE: &str = "exit";
pub const LEAVING: &str = "(import (only (scheme process-context) exit))";

/// Code that tells what a name means.
pub fn describing(name: &str) -> String {
    format!("(binding-info '{name})")
}

/// The names by which a file describes its one tool, and what each is in a description.
pub const ONE_TOOL: &[(&str, &str)] = &[
    ("tool-name", "name"),
    ("tool-description", "description"),
    ("tool-category", "category"),
    ("tool-summary-params", "summary-params"),
    ("tool-parameters", "parameters"),
    ("tool-execute", EXECUTE),
];

/// The category of tools that talk to the network.
pub const NETWORK: &str = "network";

/// The part of a description that is the procedure.
pub const EXECUTE: &str = "execute";

/// The registry of tools, and that of hooks: lists, with what came last at their beginning.
pub const REGISTRIES: [&str; 2] = ["%tool-registry%", "%hook-registry%"];

/// What is wrong with the parts of a tool's description, if anything is.
pub fn check_clauses(tool: &str, clauses: &[String]) -> Result<(), String> {
    let known = || ONE_TOOL.iter().map(|(_, clause)| *clause).skip(1);
    for clause in clauses {
        if !known().any(|known| known == clause) {
            let hint = hint(nearest(clause, known()));
            return Err(format!(
                "the tool {tool} has a clause `{clause}`, which means nothing{hint}"
            ));
        }
    }
    let missing = ["description", EXECUTE]
        .into_iter()
        .find(|wanted| !clauses.iter().any(|clause| clause == wanted));
    match missing {
        Some(missing) => Err(format!("the tool {tool} has no `{missing}`")),
        None => Ok(()),
    }
}

/// What is wrong with the name of a hook, if anything is.
pub fn check_point(name: &str) -> Result<(), String> {
    let known = hooks();
    if known.iter().any(|hook| hook.name() == name) {
        return Ok(());
    }
    let hint = hint(nearest(name, known.iter().map(|hook| hook.name())));
    Err(format!("there is no hook `{name}`{hint}"))
}

fn hint(near: Option<&str>) -> String {
    near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"))
}

/// The hooks whose callbacks judge.
pub fn guards() -> Vec<&'static str> {
    let guards = hooks().into_iter().filter(|hook| hook.class() == Class::Guard);
    guards.map(|hook| hook.name()).collect()
}

/// Who sees the tools of a file, and whose events its hooks hear.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Zone {
    /// Everybody.
    Shared,
    /// One context.
    Home(String),
    /// The members of a flock.
    Flock(String),
}

/// The folders that hold files, and how the names of files end.
pub const ZONE_FOLDERS: &[&str] = &["/tools/shared", "/tools/home", "/tools/flocks"];

/// The zone of a file, by its path in the virtual file system; `None` for what is no such file.
pub fn zone_of(path: &str) -> Option<Zone> {
    let names: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
    if !names.last()?.ends_with(".scm") || names.last()?.starts_with('.') {
        return None;
    }
    match names.as_slice() {
        ["tools", "shared", _, ..] => Some(Zone::Shared),
        ["tools", "home", context, _, ..] => Some(Zone::Home((*context).into())),
        ["tools", "flocks", flock, _, ..] => Some(Zone::Flock((*flock).into())),
        _ => None,
    }
}

/// The JSON schema of a tool's arguments, from what its file says of them: names with their descriptions. An argument
/// is needed unless it says otherwise.
pub fn schema_of(parameters: &Value) -> Result<Value, String> {
    let fields = match parameters {
        Value::Null => &Map::new(),
        Value::Object(fields) => fields,
        other => {
            return Err(format!(
                "the parameters are a list of names with their descriptions, not {other}"
            ));
        }
    };
    if fields.get("type") == Some(&json!("object")) && fields.get("properties").is_some_and(Value::is_object)
    {
        return Ok(parameters.clone());
    }
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, description) in fields {
        let mut property = match description {
            Value::Object(property) => property.clone(),
            Value::String(text) => Map::from_iter([("description".to_owned(), json!(text))]),
            other => return Err(format!("the parameter {name} has {other} for a description")),
        };
        if property.remove("required") != Some(Value::Bool(false)) {
            required.push(json!(name));
        }
        property.entry("type").or_insert_with(|| json!("string"));
        // A list of one value looks like that value.
        if let Some(values) = property.get_mut("enum").filter(|values| !values.is_array()) {
            *values = json!([values.take()]);
        }
        properties.insert(name.clone(), Value::Object(property));
    }
    Ok(json!({"type": "object", "properties": properties, "required": required}))
}

/// How a call of a tool is told: the result, and what was written meanwhile.
pub fn tool_result(result: &str, stdout: &str, stderr: &str) -> String {
    let or_empty = |text: &str| match text.trim_end() {
        "" => "(empty)".to_owned(),
        text => text.to_owned(),
    };
    format!(
        "result: {result}\nstdout: {}\nstderr: {}",
        or_empty(stdout),
        or_empty(stderr)
    )
}

/// A moment as files write it.
pub fn timestamp(now: DateTime<Utc>) -> String {
    now.format("%Y%m%d-%H%Mz").to_string()
}

/// What a callback's answer means, beside what it was shown. Lists of one and empty lists look like other things in
/// Scheme; what was shown says what they are.
pub(super) fn answer(class: Class, returned: Option<&str>, shown: &str) -> Result<Answer, Failure> {
    let Some(text) = returned.filter(|_| class != Class::Observe) else {
        return Ok(Answer::default());
    };
    let answer = Answer::written(text)?;
    if !answer.is_nested() {
        return Ok(answer);
    }
    let shown = serde_json::from_str(shown).unwrap_or_default();
    Ok(answer.map(|fields| alike(fields, &shown)))
}

/// The same data in the shapes of what was shown.
fn alike(answer: Value, shown: &Value) -> Value {
    match (answer, shown) {
        (Value::Null, Value::Array(_)) => Value::Array(Vec::new()),
        (Value::Null, Value::Object(_)) => Value::Object(Map::new()),
        (Value::Object(fields), Value::Object(known)) => {
            let field = |(name, value)| {
                let value = known
                    .get(&name)
                    .map_or_else(|| Value::clone(&value), |shown| alike(value.clone(), shown));
                (name, value)
            };
            Value::Object(fields.into_iter().map(field).collect())
        }
        (Value::Array(items), Value::Array(known)) => {
            let item = |(index, item)| match known.get(index).or(known.last()) {
                Some(shown) => alike(item, shown),
                None => item,
            };
            Value::Array(items.into_iter().enumerate().map(item).collect())
        }
        (one, Value::Array(known)) => match known.first() {
            Some(first) if std::mem::discriminant(first) == std::mem::discriminant(&one) => {
                Value::Array(vec![alike(one, first)])
            }
            _ => one,
        },
        (other, _) => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_belongs_to_the_zone_in_which_it_lies() {
        let zone = |path: &str| zone_of(path);
        assert_eq!(zone("/tools/shared/a.scm"), Some(Zone::Shared));
        assert_eq!(zone("/tools/shared/deep/a.scm"), Some(Zone::Shared));
        assert_eq!(zone("/tools/home/me/a.scm"), Some(Zone::Home("me".into())));
        assert_eq!(zone("/tools/flocks/work/a.scm"), Some(Zone::Flock("work".into())));
        for other in [
            "/tools/a.scm",
            "/tools/home/a.scm",
            "/shared/a.scm",
            "/tools/shared/a.txt",
            "/tools/shared/.scm",
        ] {
            assert_eq!(zone(other), None, "{other}");
        }
    }

    #[test]
    fn parameters_become_a_schema() {
        let parameters = json!({
            "path": {"type": "string", "description": "a file"},
            "lines": {"type": "integer", "required": false},
            "mode": {"enum": "fast"},
            "why": "a reason",
        });
        let expected = json!({"type": "object", "properties": {
            "path": {"type": "string", "description": "a file"},
            "lines": {"type": "integer"},
            "mode": {"enum": ["fast"], "type": "string"},
            "why": {"description": "a reason", "type": "string"},
        }, "required": ["path", "mode", "why"]});
        assert_eq!(schema_of(&parameters).unwrap(), expected);
        assert_eq!(schema_of(&expected).unwrap(), expected);
        assert_eq!(schema_of(&Value::Null).unwrap()["properties"], json!({}));
        assert!(schema_of(&json!(["path"])).is_err());
    }

    #[test]
    fn lists_of_one_are_what_was_shown() {
        let shown = json!({"request_body": {"messages": [{"role": "user"}], "stop": [], "n": 1, "content": [{"a": 1}]}});
        let answer = json!({"request_body": {"messages": {"role": "system"}, "stop": null, "n": 2, "content": "words"}});
        let expected = json!({"request_body": {"messages": [{"role": "system"}], "stop": [], "n": 2, "content": "words"}});
        assert_eq!(alike(answer, &shown), expected);
    }

    #[test]
    fn what_does_not_exist_is_told_with_what_does() {
        assert!(
            check_point("pre_mesage")
                .unwrap_err()
                .contains("did you mean `pre_message`?")
        );
        assert!(check_point("pre_message").is_ok());
        let clauses =
            |names: &[&str]| check_clauses("t", &names.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(clauses(&["description", "execute"]).is_ok());
        assert!(
            clauses(&["descripton", "execute"])
                .unwrap_err()
                .contains("`description`?")
        );
        assert!(clauses(&["description"]).unwrap_err().contains("no `execute`"));
    }
}
