//! `becket doctor --files PATH`: says of other agents' files whether becket runs them, and what it leaves out.

use std::path::{Path, PathBuf};

use becket_host::GuestSearch;
use becket_run::setup::read_config;
use becket_system::project_root::project_root;
use becket_system::{CliError, Exit, Folders, Surroundings, counted, harmless};
use becket_trust::Trust;
use serde_json::json;

use crate::options::Options;
use crate::printing::print;

/// A file, with the remarks on it or the reason why it is refused.
type Surveyed = (PathBuf, Result<Vec<String>, String>);

/// Reads a file, or every file in a folder and below it. The exit code is 1 if a file is refused.
pub fn run(options: &Options, folder: &Path, surroundings: &Surroundings) -> Result<Exit, CliError> {
    let mut files = Vec::new();
    match surroundings.cwd.join(folder).is_file() {
        true => files.push(folder.to_owned()),
        false => files_below(&surroundings.cwd, folder, &mut files)?,
    }
    files.sort();
    let surveyed = survey(options, files, surroundings)?;
    if surveyed.is_empty() {
        let what = format!("there is no agent file in {}", folder.display());
        return Err(CliError::usage(what).hint("name an agent file, or a folder with some"));
    }
    for (file, result) in &surveyed {
        print(&line(options, file, result))?;
    }
    let refused = surveyed.iter().filter(|(_, result)| result.is_err()).count();
    if !options.run.json {
        print(&summary(&surveyed, refused))?;
    }
    Ok(if refused > 0 { Exit::Failed } else { Exit::Answered })
}

/// The files in a folder and below it, relative to the working directory.
fn files_below(cwd: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), CliError> {
    let unreadable = |error| CliError::usage(format!("cannot read {}: {error}", folder.display()));
    for entry in std::fs::read_dir(cwd.join(folder)).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let path = folder.join(entry.file_name());
        let kind = entry.file_type().map_err(unreadable)?;
        let is_hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
        if kind.is_dir() && !is_hidden {
            files_below(cwd, &path, files)?;
        } else if kind.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn survey(
    options: &Options,
    files: Vec<PathBuf>,
    surroundings: &Surroundings,
) -> Result<Vec<Surveyed>, CliError> {
    let folders = Folders::find(options.run.home.as_deref(), surroundings)?;
    let project_root = project_root(&surroundings.cwd);
    let (_, settings) = read_config(&folders.config_file(), options.run.hosts)?;
    let place = GuestSearch {
        surroundings,
        folders: &folders,
        project_root: &project_root,
        trust: &Trust::open(options.run.trust, &folders, surroundings, &project_root),
        settings: &settings,
        options: &options.run.guests,
        without: &[],
        sections: &options.run.hosts.sections(),
        operation_called: becket_dialects::operation_called,
    };
    let surveyed = files.into_iter().filter_map(|file| {
        let result = options
            .run
            .hosts
            .iter()
            .find_map(|host| host.survey(&file, &place))?;
        Some((file, result.map_err(|error| error.to_string())))
    });
    Ok(surveyed.collect())
}

fn line(options: &Options, file: &Path, result: &Result<Vec<String>, String>) -> String {
    let (state, words) = match result {
        Ok(remarks) if remarks.is_empty() => ("complete", remarks.clone()),
        Ok(remarks) => ("remarks", remarks.clone()),
        Err(reason) => ("refused", vec![reason.clone()]),
    };
    if options.run.json {
        let told = json!({"file": file, "state": state, "reasons": words});
        return format!("{told}\n");
    }
    let own = format!("{}:", file.display());
    let mut text = format!("{state:<9} {}\n", harmless(&file.display().to_string()));
    for words in words {
        let words = words
            .strip_prefix(&own)
            .map_or_else(|| words.clone(), |rest| format!("line {rest}"));
        text.push_str(&format!("            {}\n", harmless(&words)));
    }
    text
}

fn summary(surveyed: &[Surveyed], refused: usize) -> String {
    let complete = surveyed
        .iter()
        .filter(|(_, result)| result.as_ref().is_ok_and(Vec::is_empty))
        .count();
    let all = surveyed.len();
    let remarked = all - complete - refused;
    let percent = (all - refused) as f64 * 100.0 / all as f64;
    let files = counted(all as u64, "file");
    format!(
        "\n{files}: {complete} complete, {remarked} with remarks, {refused} refused; {percent:.1} % run\n"
    )
}
