//! Checks of extensions before they run. Extensions are read, not run.

use std::path::{Path, PathBuf};

use becket_check::{CheckedHook, Finding, HookFile, Kind, LARGEST, NamedFile, Start, Subject, Told, boxed};
use becket_hooks::nearest;
use becket_host::GuestSearch;
use becket_js::{ApiCall, DefaultExport, Outline, Transformer, missing_imports, outline};
use becket_system::CliError;
use becket_system::files::read_regular;

use crate::discovery::has_project_extensions;
use crate::found::FoundExtensions;

/// The type by which extensions in TypeScript know pi's API.
const API_TYPE: &str = "ExtensionAPI";

/// Words that extensions contain and other scripts rarely do.
const WORDS: &[&str] = &["pi-coding-agent", "ExtensionAPI", "pi.on(", "pi.register"];

/// An extension's file.
#[derive(Debug)]
struct ExtensionFile(PathBuf);

impl CheckedHook for ExtensionFile {
    fn start(&self) -> Start<'_> {
        Start::Module(&self.0)
    }

    fn check(&self, subject: &Subject<'_>) -> Vec<Finding> {
        match read_regular(&self.0, LARGEST) {
            Ok(text) => check(&Told(subject), &self.0, &text),
            Err(_) => Vec::new(),
        }
    }
}

/// The extensions of a run, trusted or not.
pub fn files(place: &GuestSearch<'_>) -> Result<Vec<HookFile>, CliError> {
    let found = FoundExtensions::find(&GuestSearch {
        without: &[],
        ..*place
    })?;
    let trusted = found.found.extensions.iter().map(|candidate| &candidate.file);
    let all = trusted.chain(&found.found.untrusted);
    let mut files = Vec::new();
    for file in all.filter(|file| is_module(file)) {
        let whole = place.surroundings.cwd.join(file);
        match read_regular(&whole, LARGEST) {
            Err(error) if error.is_absence() => {
                let file = file.display();
                return Err(CliError::usage(format!("cannot read {file}: {error}")));
            }
            text => files.push(read(file, whole, &text.unwrap_or_default())),
        }
    }
    Ok(files)
}

/// Reads a file, if it is an extension.
pub fn file(file: &NamedFile<'_>) -> Option<HookFile> {
    let text = file.text.as_deref()?;
    let holds_hooks = || {
        let is_for_extensions = file.whole.parent().is_some_and(has_project_extensions);
        is_for_extensions || (WORDS.iter().any(|word| text.contains(word)) && text.contains("default"))
    };
    let is_meant = is_module(file.shown) && (file.is_named || holds_hooks());
    is_meant.then(|| read(file.shown, file.whole.clone(), text))
}

fn read(shown: &Path, whole: PathBuf, text: &str) -> HookFile {
    HookFile::new(shown, text, Ok(boxed([ExtensionFile(whole)])))
}

fn is_module(file: &Path) -> bool {
    let ending = file.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("ts" | "js" | "mjs" | "mts"))
}

fn check(told: &Told<'_>, file: &Path, text: &str) -> Vec<Finding> {
    if let Err(error) = Transformer::default().javascript(file, text) {
        return vec![told.at(error.line, Kind::BadScript, error.what, None)];
    }
    let outline = match outline(file, text, API_TYPE) {
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
            let message = "its default export is not a function, so it cannot be loaded".to_owned();
            findings.push(told.at(line, Kind::BadScript, message, hint));
        }
        DefaultExport::Function | DefaultExport::Unknown => {}
    }
    let missing = missing_imports(file, text, is_module_of_pi);
    findings.extend(missing.into_iter().map(|(name, line)| {
        let message = format!("there is no module `{name}`, so it cannot be loaded");
        told.at(line, Kind::MissingProgram, message, None)
    }));
    findings.extend(outline.calls.iter().flat_map(|call| called(told, call)));
    findings.extend(compared(told, &outline));
    findings
}

fn is_module_of_pi(name: &str) -> bool {
    let mut modules = crate::host_modules().iter().chain(crate::prelude_modules());
    modules.any(|module| module.names.contains(&name))
}

/// The errors in a call of pi's API: its name, the event, and the handler's answer.
fn called(told: &Told<'_>, call: &ApiCall) -> Vec<Finding> {
    let api = crate::api();
    let members = api.iter().filter(|member| member.object == crate::Object::Pi);
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
    let rows: Vec<&str> = crate::rows().iter().map(|row| row.name()).collect();
    let known: Vec<&str> = rows
        .into_iter()
        .chain(crate::NEVER_FIRED.iter().chain(crate::DIRECT).copied())
        .collect();
    if let Some(finding) = told.unknown_event(event, call.line, &known) {
        return vec![finding];
    }
    let Some(fields) = crate::answer_fields(event) else {
        return Vec::new();
    };
    let returned = call.returned.iter();
    let meaningless = returned.filter(|(name, _)| !fields.contains(&name.as_str()));
    meaningless
        .map(|(name, line)| told.meaningless(name, *line, event, fields))
        .collect()
}

/// Names of tools that pi does not know, although it knows the tool by another name.
fn compared(told: &Told<'_>, outline: &Outline) -> Vec<Finding> {
    let elsewhere = told.0.machine.tools.elsewhere;
    let profile = crate::profile();
    let names: Vec<&str> = profile.faces.iter().map(|face| face.name).collect();
    let tools = outline.comparisons.iter();
    let tools = tools.filter(|compared| {
        let text = &compared.text;
        compared.member == "toolName" && !names.contains(&text.as_str()) && !outline.names.contains(text)
    });
    tools
        .filter_map(|compared| {
            let name = compared.text.as_str();
            let operation = elsewhere(name).or_else(|| elsewhere(&name.to_lowercase()))?;
            let mut faces = profile.faces.iter();
            let face = faces.find(|face| face.operation.name() == operation)?;
            let message = format!("pi calls no tool `{name}`");
            let hint = Some(format!("did you mean `{}`?", face.name));
            Some(told.at(compared.line, Kind::UnknownTool, message, hint))
        })
        .collect()
}
