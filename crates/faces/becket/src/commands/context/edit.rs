//! Changes the system prompt and the settings of a context.

use std::io::Read;
use std::path::PathBuf;
use std::time::SystemTime;

use becket_agent::context_files::ContextFile;
use becket_hooks::nearest;
use becket_run::context_settings::{self, ContextSettings};
use becket_store::{ContextName, Lifetime};
use becket_system::files::read_regular;
use becket_system::moments::{moment_in_words, parse_moment, parse_span, span_in_words};
use becket_system::{CliError, harmless};

use super::place::ContextCommands;
use crate::printing::print;

/// The largest system prompt, in bytes.
const MAX_PROMPT_BYTES: u64 = 256 * 1024;

/// Settings in the store instead of the file, because the store looks for contexts that are due.
const DESTROY_AT: &str = "destroy_at";
const DESTROY_AFTER: &str = "destroy_after_inactive";

/// A change of a system prompt.
pub enum PromptChange {
    Show,
    Set(String),
    Read(PathBuf),
    Remove,
}

impl PromptChange {
    /// The change that the options ask for; clap lets only one of them through.
    pub fn of(set: Option<String>, file: Option<PathBuf>, remove: bool) -> Self {
        match (set, file) {
            (Some(text), _) => Self::Set(text),
            (None, Some(file)) => Self::Read(file),
            (None, None) if remove => Self::Remove,
            (None, None) => Self::Show,
        }
    }
}

pub fn prompt(place: &ContextCommands<'_>, name: &ContextName, change: PromptChange) -> Result<(), CliError> {
    let files = place.files(name);
    let path = files.path(ContextFile::SystemPrompt);
    let told = |doing: &str, error: std::io::Error| {
        CliError::failed(format!("cannot {doing} {}: {error}", path.display()))
    };
    let text = match change {
        PromptChange::Show => {
            let text = files
                .try_read(ContextFile::SystemPrompt)
                .map_err(|error| told("read", error))?;
            match text {
                None => place
                    .surroundings
                    .remark(&format!("the context {name} has no system prompt of its own")),
                Some(text) if place.surroundings.stdout_is_terminal => {
                    print(&format!("{}\n", harmless(text.trim_end())))?;
                }
                Some(text) => print(&text)?,
            }
            return Ok(());
        }
        PromptChange::Remove => {
            let was_there = files
                .remove(ContextFile::SystemPrompt)
                .map_err(|error| told("remove", error))?;
            place.surroundings.remark(&match was_there {
                true => format!("the context {name} has the default system prompt again"),
                false => format!("the context {name} had no system prompt of its own"),
            });
            return Ok(());
        }
        PromptChange::Set(text) => text,
        PromptChange::Read(file) => read_prompt(place, &file)?,
    };
    if text.trim().is_empty() {
        return Err(
            CliError::usage("a system prompt cannot be empty").hint("`--remove` goes back to the default")
        );
    }
    files
        .write(ContextFile::SystemPrompt, &text)
        .map_err(|error| told("write", error))?;
    let length = text.chars().count();
    place.surroundings.remark(&format!(
        "the context {name} has a system prompt of {length} characters"
    ));
    Ok(())
}

/// The text of a file, or of standard input for `-`.
fn read_prompt(place: &ContextCommands<'_>, file: &std::path::Path) -> Result<String, CliError> {
    if file != std::path::Path::new("-") {
        let path = place.surroundings.cwd.join(file);
        let wrong = |error| CliError::usage(format!("cannot read {}: {error}", path.display()));
        return read_regular(&path, MAX_PROMPT_BYTES).map_err(wrong);
    }
    let mut bytes = Vec::new();
    let read = std::io::stdin()
        .take(MAX_PROMPT_BYTES + 1)
        .read_to_end(&mut bytes);
    read.map_err(|error| CliError::failed(format!("cannot read standard input: {error}")))?;
    if bytes.len() as u64 > MAX_PROMPT_BYTES {
        let limit = MAX_PROMPT_BYTES / 1024;
        return Err(CliError::usage(format!(
            "a system prompt has at most {limit} KiB"
        )));
    }
    String::from_utf8(bytes).map_err(|_| CliError::usage("standard input is not UTF-8 text"))
}

/// Sets a setting, or removes it.
pub async fn set(
    place: &ContextCommands<'_>,
    name: &ContextName,
    key: &str,
    value: Option<&str>,
) -> Result<(), CliError> {
    let shown = match key {
        DESTROY_AT | DESTROY_AFTER => set_lifetime(place, name, key, value).await?,
        _ if ContextSettings::keys().contains(&key) => {
            context_settings::change(&place.files(name), key, value)?;
            value.map(ToString::to_string)
        }
        _ => return Err(unknown_key(key)),
    };
    place.surroundings.remark(&match shown {
        Some(value) => format!("{key} of the context {name} is {value}"),
        None => format!("context {name}: {key} is back to its default"),
    });
    Ok(())
}

/// Sets the lifetime of a context. Returns the value as it was understood.
async fn set_lifetime(
    place: &ContextCommands<'_>,
    name: &ContextName,
    key: &str,
    value: Option<&str>,
) -> Result<Option<String>, CliError> {
    let found = place.store.context(name.as_str())?;
    let mut lifetime = found.map_or(Lifetime::default(), |context| context.lifetime);
    let shown = if key == DESTROY_AT {
        lifetime.destroy_at_ms = value.map(future_moment).transpose()?;
        lifetime.destroy_at_ms.map(moment_in_words)
    } else {
        let span = |text| {
            parse_span(text).ok_or_else(|| {
                CliError::usage(format!("`{text}` is not a duration")).hint("write 90s, 15m, 12h, 7d or 2w")
            })
        };
        lifetime.destroy_after_ms = value.map(span).transpose()?;
        lifetime.destroy_after_ms.map(span_in_words)
    };
    place.store.set_lifetime(name, lifetime).await?;
    Ok(shown)
}

/// Parses a moment. One in the past is an error, since it would destroy the context at once.
fn future_moment(text: &str) -> Result<u64, CliError> {
    let moment = parse_moment(text).ok_or_else(|| {
        CliError::usage(format!("`{text}` is not a time"))
            .hint("write 2027-01-31, 2027-01-31 18:00 or seconds since 1970")
    })?;
    let now = SystemTime::UNIX_EPOCH
        .elapsed()
        .map_or(0, |age| age.as_millis() as u64);
    if moment <= now {
        let words = moment_in_words(moment);
        return Err(CliError::usage(format!("{words} is in the past"))
            .hint("`becket context destroy` destroys a context at once"));
    }
    Ok(moment)
}

fn unknown_key(key: &str) -> CliError {
    let keys = ContextSettings::keys().iter().copied();
    let keys = keys.chain([DESTROY_AT, DESTROY_AFTER]);
    let error = CliError::usage(format!("a context has no setting `{key}`"));
    match nearest(key, keys.clone()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint(format!("there are {}", keys.collect::<Vec<_>>().join(", "))),
    }
}
