//! The tables about chibi's Scheme files: their libraries, their places, the description of their tools, and the
//! meaning of their answers. The host runs the files.

mod callback;
mod settings;

use std::fmt::Write;

use becket_events::Class;
use becket_hooks::nearest;
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use super::hooks::hooks;

pub(super) use callback::answer;
pub use callback::{CONTEXT_NAME, PAYLOAD, SESSION_ID};
pub use settings::{DECLARED, FileSettings, HttpAllow, HttpSettings, Reach};

/// The variable that holds the name of the context.
pub const CONTEXT_VARIABLE: &str = "%context-name%";

/// The tool that evaluates Scheme.
pub const EVAL_TOOL: &str = "scheme_eval";

/// The rights of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// The file may compute, and call tools.
    Sandboxed,
    /// The file may also read and write files.
    Unsandboxed,
}

/// A service of the host that a procedure uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Service {
    /// Checks that a hook exists.
    CheckHook,
    /// Checks the description of a tool.
    CheckTool,
    /// Calls a tool, which is asynchronous.
    CallTool,
    GenerateId,
    CurrentTimestamp,
    Read,
    Write,
    Append,
    List,
    Exists,
    Delete,
    /// Makes a request over HTTP, which is asynchronous.
    Http,
}

/// The right that a file needs to import a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// The right to read and write files.
    Files,
    /// The right to reach an address on the web.
    Web,
}

/// A procedure that the host provides.
#[derive(Debug, Clone, Copy)]
pub struct Procedure {
    pub name: &'static str,
    /// How many arguments the procedure takes.
    pub arguments: u16,
    pub service: Service,
}

/// A library that the host provides.
#[derive(Debug, Clone)]
pub struct Library {
    pub name: &'static str,
    /// Libraries whose names the definitions and exports use.
    pub imports: &'static [&'static str],
    pub procedures: &'static [Procedure],
    /// Definitions in Scheme.
    pub definitions: String,
    /// The names that the library exports.
    pub exports: &'static str,
    /// The right that a file needs to import the library.
    pub needs: Needs,
}

impl Needs {
    /// Why a file cannot import a library with this need.
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
const ITSELF: &str = "a file must contain what it needs; it may define libraries itself";
const REGEXP: &str = "(tein safe-regexp) has regular expressions that always end";
const PROGRAMS: &str = "programs are started with call-tool";

/// Libraries of other Schemes that no file can import, and the alternatives.
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

/// The library whose names every file has without an import.
const EVERYWHERE: &str = "(harness everywhere)";

/// The libraries that every file has without an import, besides the host's own.
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

/// The libraries that the host provides.
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

/// The documentation of hooks for files, made from the table of hooks.
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

/// The procedure that leaves a prompt, and the code that imports it.
pub const LEAVE: &str = "exit";
pub const LEAVING: &str = "(import (only (scheme process-context) exit))";

/// Code that describes the binding of a name.
pub fn describing(name: &str) -> String {
    format!("(binding-info '{name})")
}

/// The names by which a file describes its single tool, each with its clause in a description.
pub const ONE_TOOL: &[(&str, &str)] = &[
    ("tool-name", "name"),
    ("tool-description", "description"),
    ("tool-category", "category"),
    ("tool-summary-params", "summary-params"),
    ("tool-parameters", "parameters"),
    ("tool-execute", EXECUTE),
];

/// The category of tools that use the network.
pub const NETWORK: &str = "network";

/// The clause of a description that is the procedure.
pub const EXECUTE: &str = "execute";

/// The registries of tools and of hooks: lists with the latest entry first.
pub const REGISTRIES: [&str; 2] = ["%tool-registry%", "%hook-registry%"];

/// Checks the clauses of a tool's description.
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

/// Checks the name of a hook.
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

/// The names of the hooks that are guards.
pub fn guards() -> Vec<&'static str> {
    let guards = hooks().into_iter().filter(|hook| hook.class() == Class::Guard);
    guards.map(|hook| hook.name()).collect()
}

/// The contexts that see a file's tools and whose events its hooks get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Zone {
    /// All contexts.
    Shared,
    /// One context.
    Home(String),
    /// The members of a flock.
    Flock(String),
}

/// The folders that hold files.
pub const ZONE_FOLDERS: &[&str] = &["/tools/shared", "/tools/home", "/tools/flocks"];

/// The zone of a file, by its path in the virtual file system; `None` for a path that is no such file.
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

/// The JSON schema of a tool's arguments, from their names and descriptions in the file. An argument is required unless
/// it says otherwise.
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
        // A list with one value looks like that value in Scheme.
        if let Some(values) = property.get_mut("enum").filter(|values| !values.is_array()) {
            *values = json!([values.take()]);
        }
        properties.insert(name.clone(), Value::Object(property));
    }
    Ok(json!({"type": "object", "properties": properties, "required": required}))
}

/// The text of a tool's result, with its output.
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

/// A timestamp in the format of Scheme files.
pub fn timestamp(now: DateTime<Utc>) -> String {
    now.format("%Y%m%d-%H%Mz").to_string()
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
