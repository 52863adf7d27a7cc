//! What happens about guests that were found and could not be loaded. Each may be a guard, so no run starts beside it
//! until it is mended or the user leaves it out by name. On a terminal the user is asked, and under `--mode rpc` the
//! program on the other side; elsewhere the run ends.

use std::io::{BufRead, Write};
use std::path::Path;

use becket_host::{Dialog, DialogAnswer, Mode, Ui, Unloaded};
use becket_screen::{Entry, Question, Screen};
use becket_system::signals::unless_cancelled;
use becket_system::{CliError, Exit, Surroundings, harmless};
use serde::Deserialize;
use toml::Spanned;

use crate::options::Caller;
use crate::project_trust;
use crate::project_trust::FIRST_ANSWER_TIMEOUT;
use crate::setup::Setup;

/// What the user decides about a guest that could not be loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decision {
    Once,
    ForGood,
    Quit,
}

/// Each decision with its key and its text.
const DECISIONS: [(Decision, char, &str); 3] = [
    (Decision::Once, 'r', "[r]un without it this time"),
    (Decision::ForGood, 'l', "[l]eave it out for good"),
    (Decision::Quit, 'q', "[q]uit"),
];

/// Decides about guests that could not be loaded. Returns the names of those to leave out, or why the run does not
/// start.
pub async fn decide_about(
    setup: &Setup,
    unloaded: &[Unloaded],
    ui: &dyn Ui,
    Caller {
        options,
        surroundings,
        cancel,
    }: Caller<'_>,
) -> Result<Vec<String>, CliError> {
    if unloaded.is_empty() {
        return Ok(Vec::new());
    }
    if setup.is_rehearsal {
        surroundings.remark(&format!("no run starts here: {}", refusal(unloaded)));
        return Ok(Vec::new());
    }
    let is_program = options.client == Some(Mode::Rpc);
    if !is_program && !project_trust::is_somebody_there(options, surroundings) {
        return Err(refusal(unloaded));
    }
    for guest in unloaded {
        let screen = surroundings.screen.get();
        let decided = async {
            match is_program {
                true => Ok(ask_program(guest, ui).await),
                false => ask(guest, screen).await,
            }
        };
        match unless_cancelled(cancel, decided).await?? {
            Decision::Once => {}
            Decision::ForGood => leave_out_for_good(setup, &guest.name, surroundings)?,
            Decision::Quit => return Err(refusal(std::slice::from_ref(guest))),
        }
    }
    Ok(unloaded.iter().map(|guest| guest.name.clone()).collect())
}

fn leave_out_for_good(setup: &Setup, name: &str, surroundings: &Surroundings) -> Result<(), CliError> {
    let file = setup.folders.config_file();
    add_to_settings(&file, name).map_err(|error| {
        CliError::failed(format!("{} cannot be changed: {error}", file.display()))
            .hint(format!("write `without = [\"{name}\"]` there yourself"))
    })?;
    surroundings.remark(&format!("`without` in {} now names {name}", file.display()));
    Ok(())
}

/// The error that names the guests that could not be loaded.
fn refusal(unloaded: &[Unloaded]) -> CliError {
    let told: Vec<String> = unloaded.iter().map(ToString::to_string).collect();
    let names: Vec<String> = unloaded
        .iter()
        .map(|guest| format!("--without {}", quoted(&guest.name)))
        .collect();
    CliError {
        exit: Exit::UntrustedGuard,
        message: format!("{}; it may contain a guard", told.join("; ")),
        hint: Some(format!(
            "repair it (`becket doctor` checks again), or run without it: {}; `without` in config.toml leaves it out \
             for \
             good",
            names.join(" ")
        )),
    }
}

/// A name quoted for a shell.
fn quoted(name: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "._-/:@".contains(character);
    match name.chars().all(is_plain) {
        true => name.to_owned(),
        false => format!("'{}'", name.replace('\'', r"'\''")),
    }
}

/// The question about a guest that could not be loaded.
const QUESTION: &str = "Run without it?";

fn label(words: &str) -> String {
    words.replace(['[', ']'], "")
}

/// Asks the program that has started becket. Without an answer nothing runs.
async fn ask_program(guest: &Unloaded, ui: &dyn Ui) -> Decision {
    let dialog = Dialog::Select {
        title: harmless(&format!("{guest}; it may contain a guard. {QUESTION}")),
        options: DECISIONS.map(|(_, _, words)| label(words)).to_vec(),
    };
    let answer = tokio::time::timeout(FIRST_ANSWER_TIMEOUT, ui.ask("", dialog, None)).await;
    let Ok(DialogAnswer::Words(chosen)) = answer else {
        return Decision::Quit;
    };
    let decision = DECISIONS.iter().find(|(_, _, words)| label(words) == chosen);
    decision.map_or(Decision::Quit, |(decision, ..)| *decision)
}

async fn ask(guest: &Unloaded, screen: Option<Screen>) -> Result<Decision, CliError> {
    let words = format!("{guest}; it may contain a guard");
    match screen {
        Some(screen) => {
            let question = Question::new(QUESTION).message(words).unexpected();
            // Enter alone quits.
            let mut decisions = DECISIONS;
            decisions.reverse();
            let entries = decisions.map(|(_, key, words)| Entry {
                label: label(words),
                letter: Some(key),
                ..Entry::default()
            });
            let chosen = screen.select(question, entries.to_vec()).await;
            Ok(chosen.map_or(Decision::Quit, |chosen| decisions[chosen].0))
        }
        None => {
            let answer = tokio::task::spawn_blocking(move || ask_in_lines(&words)).await;
            answer.map_err(|error| CliError::failed(format!("no answer can be read: {error}")))?
        }
    }
}

/// Asks in lines on a terminal. Without an answer nothing runs.
fn ask_in_lines(words: &str) -> Result<Decision, CliError> {
    let failed = |error: std::io::Error| CliError::failed(format!("no answer can be read: {error}"));
    let keys = DECISIONS.map(|(_, _, label)| label).join(", ");
    loop {
        let mut stderr = std::io::stderr().lock();
        write!(stderr, "{}\n{keys}: ", harmless(words))
            .and_then(|()| stderr.flush())
            .map_err(failed)?;
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line).map_err(failed)?;
        let answer = line.trim().to_ascii_lowercase();
        let decided = DECISIONS.iter().find(|(_, key, _)| answer == key.to_string());
        match decided {
            Some((decision, ..)) => return Ok(*decision),
            None if read == 0 => return Ok(Decision::Quit),
            None => {}
        }
    }
}

/// The list of guests to leave out; other settings of the file are not read.
#[derive(Deserialize)]
struct Without {
    without: Option<Spanned<Vec<String>>>,
}

/// Adds a name to the list `without` of a settings file. The rest of the file stays as it is.
fn add_to_settings(file: &Path, name: &str) -> Result<(), String> {
    let target = becket_fs::canonicalize(file).unwrap_or_else(|_| file.to_path_buf());
    let text = match becket_fs::read_to_string(&target) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error.to_string()),
    };
    let changed = with_name(&text, name)?;
    let folder = target.parent().unwrap_or(Path::new("."));
    let draft = target.with_extension(format!("{}.draft", std::process::id()));
    let write = || {
        std::fs::create_dir_all(folder)?;
        std::fs::write(&draft, changed)?;
        if let Ok(metadata) = becket_fs::metadata(&target) {
            std::fs::set_permissions(&draft, metadata.permissions())?;
        }
        std::fs::rename(&draft, &target)
    };
    write().map_err(|error: std::io::Error| error.to_string())
}

fn with_name(text: &str, name: &str) -> Result<String, String> {
    let read: Without = becket_hooks::parse_toml(text).map_err(|error| error.to_string())?;
    let list = |names: &[String]| {
        let quoted = names
            .iter()
            .map(|name| toml::Value::from(name.as_str()).to_string());
        format!("[{}]", quoted.collect::<Vec<_>>().join(", "))
    };
    Ok(match read.without {
        // Before the first table, wherever that begins.
        None => format!("without = {}\n{text}", list(&[name.to_owned()])),
        Some(known) if known.get_ref().iter().any(|known| known == name) => text.to_owned(),
        Some(known) => {
            let mut names = known.get_ref().clone();
            names.push(name.to_owned());
            let mut text = text.to_owned();
            text.replace_range(known.span(), &list(&names));
            text
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_added_and_the_rest_of_the_file_stays() {
        let mut text = "# mine\nmodel = \"x\" # why\n\n[agent]\nfuel = 3\n".to_owned();
        for name in ["a b", "c", "a b", "it's \"so\""] {
            text = with_name(&text, name).unwrap();
        }
        assert!(
            text.ends_with("# mine\nmodel = \"x\" # why\n\n[agent]\nfuel = 3\n"),
            "{text}"
        );
        let read: Without = toml::from_str(&text).unwrap();
        assert_eq!(read.without.unwrap().get_ref(), &["a b", "c", "it's \"so\""]);
        assert!(
            with_name("model = ", "x").is_err(),
            "nothing is written into what cannot be read"
        );
    }
}
