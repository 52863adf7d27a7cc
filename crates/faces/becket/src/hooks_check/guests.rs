//! Plugins and extensions: programs and scripts that say by themselves which events they want. They are read, not run.

use std::path::PathBuf;

use becket_hooks::nearest;
use becket_js::{ApiCall, DefaultExport, Outline, Transformer, missing_imports, outline};
use becket_system::files::read_regular;

use super::{Finding, Hook, Kind, LARGEST, Subject, answers, written};
use crate::assemble::tool_elsewhere;

/// The type by which extensions in TypeScript know pi's API.
const API_TYPE: &str = "ExtensionAPI";

/// A plugin or an extension.
#[derive(Debug)]
pub struct Guest {
    pub file: PathBuf,
    pub kind: GuestKind,
}

/// What it is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestKind {
    /// A program of chibi's.
    Plugin,
    /// A module of pi's.
    Extension,
}

impl Guest {
    /// Whether the system starts it.
    pub fn is_program(&self) -> bool {
        self.kind == GuestKind::Plugin
    }
}

/// What is wrong with the events that it wants, with its answers to them, and whether it can be read at all.
pub fn check(subject: &Subject<'_>) -> Vec<Finding> {
    let Hook::Guest(guest) = subject.hook else {
        return Vec::new();
    };
    let Ok(text) = read_regular(&guest.file, LARGEST) else {
        return Vec::new();
    };
    let told = Told { subject };
    match guest.kind {
        GuestKind::Plugin => plugin(&told, &text),
        GuestKind::Extension => extension(&told, guest, &text),
    }
}

/// Makes findings in the guest's own file.
struct Told<'a> {
    subject: &'a Subject<'a>,
}

impl Told<'_> {
    fn at(&self, line: usize, kind: Kind, message: String, hint: Option<String>) -> Finding {
        Finding {
            line: Some(line),
            hint,
            ..self.subject.finding(kind, message)
        }
    }

    /// An event that there is not.
    fn unknown_event(&self, name: &str, line: usize, known: &[&str]) -> Option<Finding> {
        let hint = nearest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`?"));
        let message = format!("there is no event `{name}`");
        (!known.contains(&name)).then(|| self.at(line, Kind::UnknownEvent, message, hint))
    }

    /// A field that means nothing in an answer.
    fn meaningless(&self, field: &str, line: usize, event: &str, fields: &[&str]) -> Finding {
        let hint = match (nearest(field, fields.iter().copied()), fields) {
            (Some(near), _) => format!("did you mean `{near}`?"),
            (None, []) => "nobody reads an answer to it".to_owned(),
            (None, fields) => format!("it may answer {}", fields.join(", ")),
        };
        let message = format!("`{field}` means nothing in an answer to {event}");
        self.at(line, Kind::MeaninglessField, message, Some(hint))
    }
}

fn line_of(text: &str, place: usize) -> usize {
    text[..place].matches('\n').count() + 1
}

// ---------------------------------------------------------------- extensions of pi

fn extension(told: &Told<'_>, guest: &Guest, text: &str) -> Vec<Finding> {
    if let Err(error) = Transformer::default().javascript(&guest.file, text) {
        return vec![told.at(error.line, Kind::BadScript, error.what, None)];
    }
    let outline = match outline(&guest.file, text, API_TYPE) {
        Ok(outline) => outline,
        Err(error) => return vec![told.at(error.line, Kind::BadScript, error.what, None)],
    };
    let mut findings = Vec::new();
    let hint = Some("write `export default function (pi) { … }`".to_owned());
    match outline.default {
        DefaultExport::Missing => {
            let message = "it has no default export, so nothing of it is called".to_owned();
            findings.push(told.at(1, Kind::BadScript, message, hint));
        }
        DefaultExport::NoFunction(line) => {
            let message = "its default export is no function, so it cannot be loaded".to_owned();
            findings.push(told.at(line, Kind::BadScript, message, hint));
        }
        DefaultExport::Function | DefaultExport::Unknown => {}
    }
    let missing = missing_imports(&guest.file, text, is_module_of_pi);
    findings.extend(missing.into_iter().map(|(name, line)| {
        let message = format!("there is no module `{name}`, so it cannot be loaded");
        told.at(line, Kind::MissingProgram, message, None)
    }));
    findings.extend(outline.calls.iter().flat_map(|call| called(told, call)));
    findings.extend(compared(told, &outline));
    findings
}

fn is_module_of_pi(name: &str) -> bool {
    let mut modules = becket_pi::host_modules()
        .iter()
        .chain(becket_pi::prelude_modules());
    modules.any(|module| module.names.contains(&name))
}

/// What is wrong with a call of pi's API: its name, the event, and what the handler answers.
fn called(told: &Told<'_>, call: &ApiCall) -> Vec<Finding> {
    let api = becket_pi::api();
    let members = api.iter().filter(|member| member.object == becket_pi::Object::Pi);
    let members: Vec<&str> = members.map(|member| member.name).collect();
    let name = call.member.as_str();
    if let Some(near) = nearest(name, members.iter().copied()).filter(|_| !members.contains(&name)) {
        let message = format!("pi has no `{name}`, so it throws where it is called");
        let hint = Some(format!("did you mean `{near}`?"));
        return vec![told.at(call.line, Kind::BadScript, message, hint)];
    }
    let (Some(event), "on") = (call.first.as_deref(), name) else {
        return Vec::new();
    };
    let rows: Vec<&str> = becket_pi::rows().iter().map(|row| row.name()).collect();
    let known: Vec<&str> = rows
        .into_iter()
        .chain(becket_pi::NEVER_FIRED.iter().copied())
        .collect();
    if let Some(finding) = told.unknown_event(event, call.line, &known) {
        return vec![finding];
    }
    let Some(fields) = becket_pi::answer_fields(event) else {
        return Vec::new();
    };
    let returned = call.returned.iter();
    let meaningless = returned.filter(|(name, _)| !fields.contains(&name.as_str()));
    meaningless
        .map(|(name, line)| told.meaningless(name, *line, event, fields))
        .collect()
}

/// Names of tools that pi does not know, where it knows the tool by another name.
fn compared(told: &Told<'_>, outline: &Outline) -> Vec<Finding> {
    let profile = becket_pi::profile();
    let names: Vec<&str> = profile.faces.iter().map(|face| face.name).collect();
    let tools = outline.comparisons.iter();
    let tools = tools.filter(|compared| {
        let text = &compared.text;
        compared.member == "toolName" && !names.contains(&text.as_str()) && !outline.names.contains(text)
    });
    tools
        .filter_map(|compared| {
            let name = compared.text.as_str();
            let operation = tool_elsewhere(name).or_else(|| tool_elsewhere(&name.to_lowercase()))?;
            let mut faces = profile.faces.iter();
            let face = faces.find(|face| face.operation.name() == operation)?;
            let message = format!("pi calls no tool `{name}`");
            let hint = Some(format!("did you mean `{}`?", face.name));
            Some(told.at(compared.line, Kind::UnknownTool, message, hint))
        })
        .collect()
}

// ---------------------------------------------------------------- plugins of chibi

fn plugin(told: &Told<'_>, text: &str) -> Vec<Finding> {
    let known: Vec<&str> = becket_chibi::hooks().iter().map(|hook| hook.name()).collect();
    let wanted = plugin_events(text);
    let mut findings: Vec<Finding> = wanted
        .iter()
        .filter_map(|(name, place)| told.unknown_event(name, line_of(text, *place), &known))
        .collect();
    findings.extend(misnamed_list(told, text));
    let names: Vec<&str> = wanted.iter().map(|(name, _)| name.as_str()).collect();
    findings.extend(plugin_answers(told, text, &names));
    findings
}

/// A description that says `hook` where it means `hooks`, or has no list there.
fn misnamed_list(told: &Told<'_>, text: &str) -> Option<Finding> {
    text.lines().enumerate().find_map(|(index, line)| {
        let compact = line.replace([' ', '\\'], "");
        let is_description = compact.contains("\"description\":");
        let message = if compact.contains("\"hook\":[") {
            "a description has `hooks`, not `hook`"
        } else if compact.contains("\"hooks\":\"") {
            "`hooks` is a list of names"
        } else {
            return None;
        };
        is_description.then(|| told.at(index + 1, Kind::UnknownEvent, message.to_owned(), None))
    })
}

/// Words by which plugins, hooks of becket's own and hooks of docker-agent decide.
const DECIDING: &[&str] = &["block", "denied", "approved", "verdict"];

/// Answers in the words of other hooks or of another system.
fn plugin_answers(told: &Told<'_>, text: &str, wanted: &[&str]) -> Vec<Finding> {
    let fields: Option<Vec<Vec<&str>>> = wanted
        .iter()
        .map(|hook| becket_chibi::answer_fields(hook))
        .collect();
    let Some(fields) = fields
        .map(|fields| fields.concat())
        .filter(|_| !wanted.is_empty())
    else {
        return Vec::new();
    };
    let deciding: Vec<&str> = DECIDING
        .iter()
        .chain(becket_docker_agent::DECIDING)
        .copied()
        .collect();
    // A tool may print anything else.
    let is_foreign = |name: &str| deciding.contains(&name) || nearest(name, ["block"]).is_some();
    let objects = answers::objects(&written::by_shell(text)).into_iter();
    // What a plugin prints about itself is no answer.
    let objects = objects.filter(|(_, members)| !members.contains_key("description"));
    let names = objects.flat_map(|(_, members)| members.keys().cloned().collect::<Vec<_>>());
    let meaningless = names.filter(|name| !fields.contains(&name.as_str()) && is_foreign(name));
    meaningless
        .map(|name| {
            let place = text.find(&format!("\"{name}\"")).unwrap_or_default();
            told.meaningless(&name, line_of(text, place), &wanted.join(", "), &fields)
        })
        .collect()
}

/// The names in a list called `hooks`, in JSON, Python or jq, and where they stand.
fn plugin_events(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for (start, word) in text.match_indices("hooks") {
        let rest = &text[start + word.len()..];
        let rest = rest.trim_start_matches(['"', '\'', '\\']).trim_start();
        let Some(rest) = rest.strip_prefix(':') else {
            continue;
        };
        let Some(list) = rest.trim_start().strip_prefix('[') else {
            continue;
        };
        let begin = text.len() - list.len();
        let list = list.split(']').next().unwrap_or_default();
        found.extend(quoted_words(list, begin));
    }
    found
}

/// The texts in quotes, and where they stand.
fn quoted_words(text: &str, begin: usize) -> Vec<(String, usize)> {
    let mut words = Vec::new();
    let mut at = 0;
    for piece in text.split([',']) {
        let name = piece.trim().trim_matches(['"', '\'', '\\']).to_owned();
        let is_name = !name.is_empty()
            && name
                .chars()
                .all(|letter| letter.is_alphanumeric() || letter == '_');
        let is_quoted = piece.contains(['"', '\'']);
        if is_name && is_quoted {
            let inside = piece.find(name.as_str()).unwrap_or_default();
            words.push((name, begin + at + inside));
        }
        at += piece.len() + 1;
    }
    words
}
