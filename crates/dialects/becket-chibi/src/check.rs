//! Checks of plugins before they run. Plugins are read, not run.

use std::path::{Path, PathBuf};

use becket_check::{
    CheckedHook, Finding, HookFile, Kind, LARGEST, NamedFile, Start, Subject, Told, boxed, line_of, objects,
    written,
};
use becket_hooks::nearest;
use becket_host::GuestSearch;
use becket_system::CliError;
use becket_system::files::read_regular;

use crate::home::{HOME_OPTION, plugins_folder};
use crate::plugins::home_of_run;

/// A plugin's file.
#[derive(Debug)]
struct PluginFile(PathBuf);

impl CheckedHook for PluginFile {
    fn start(&self) -> Start<'_> {
        Start::Program(&self.0)
    }

    fn check(&self, subject: &Subject<'_>) -> Vec<Finding> {
        match read_regular(&self.0, LARGEST) {
            Ok(text) => check(&Told(subject), &text),
            Err(_) => Vec::new(),
        }
    }
}

/// The plugins of the home.
pub fn files(place: &GuestSearch<'_>) -> Result<Vec<HookFile>, CliError> {
    let given = place.options.path(HOME_OPTION);
    let home = home_of_run(
        given.as_deref(),
        &place.section()?,
        place.folders,
        place.surroundings,
    )?;
    let programs = home.map(|home| programs_in(&plugins_folder(&home)));
    let files = programs.unwrap_or_default().into_iter();
    Ok(files.map(|file| read(&file, &file)).collect())
}

/// Reads a file, if it is a plugin.
pub fn file(file: &NamedFile<'_>) -> Option<HookFile> {
    let begins = file.text.as_deref().is_some_and(|text| text.starts_with("#!"));
    let name = file.whole.file_name();
    let folder = file.whole.parent();
    let has_own_folder = folder.is_some_and(|folder| folder.file_name() == name)
        && folder
            .and_then(Path::parent)
            .is_some_and(|folder| folder.ends_with(FOLDER));
    let is_plugin = match file.is_named {
        true => begins || file.is_in(FOLDER),
        // A file with an extension is a plugin only if it is a script.
        false => (file.is_in(FOLDER) || has_own_folder) && (begins || file.shown.extension().is_none()),
    };
    is_plugin.then(|| read(file.shown, &file.whole))
}

/// The name of folders of plugins.
const FOLDER: &str = "plugins";

/// Reads a plugin's file. A program need not be text, and a missing one is found later.
fn read(shown: &Path, whole: &Path) -> HookFile {
    let text = read_regular(whole, LARGEST).unwrap_or_default();
    HookFile::new(shown, &text, Ok(boxed([PluginFile(whole.to_path_buf())])))
}

/// The plugins in a folder: files that are neither hidden nor disabled, programs in folders with their name, and broken
/// links.
fn programs_in(folder: &Path) -> Vec<PathBuf> {
    let entries = becket_fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries
        .filter_map(|entry| {
            let (path, name) = (entry.path(), entry.file_name());
            let shown = name.to_string_lossy();
            let is_left_out = shown.starts_with('.') || shown.ends_with(".disabled");
            let leads_nowhere = becket_fs::is_symlink(&path) && !becket_fs::exists(&path);
            let program = if becket_fs::is_dir(&path) {
                path.join(&name)
            } else {
                path
            };
            (!is_left_out && (leads_nowhere || becket_fs::is_file(&program))).then_some(program)
        })
        .collect();
    files.sort();
    files
}

fn check(told: &Told<'_>, text: &str) -> Vec<Finding> {
    let known: Vec<&str> = crate::hooks().iter().map(|hook| hook.name()).collect();
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

/// A finding about a description that says `hook` instead of `hooks`, or has no list there.
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

/// Findings about answers with fields of other hooks or of another system.
fn plugin_answers(told: &Told<'_>, text: &str, wanted: &[&str]) -> Vec<Finding> {
    let fields: Option<Vec<Vec<&str>>> = wanted.iter().map(|hook| crate::answer_fields(hook)).collect();
    let Some(fields) = fields
        .map(|fields| fields.concat())
        .filter(|_| !wanted.is_empty())
    else {
        return Vec::new();
    };
    // A tool may print any other field.
    let deciding = &told.0.machine.deciding;
    let is_foreign = |name: &str| deciding.contains(&name) || nearest(name, ["block"]).is_some();
    let objects = objects(&written::by_shell(text)).into_iter();
    // A plugin's description of itself is no answer.
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

/// The names in a list called `hooks`, in JSON, Python or jq, with their positions.
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

/// The texts in quotes, with their positions.
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
