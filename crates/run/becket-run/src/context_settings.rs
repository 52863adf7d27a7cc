//! The settings of one context: `settings.toml` in its folder. They count more than the user's configuration and
//! less than the command line.

use std::path::Path;

use becket_agent::context_files::{ContextFile, ContextFiles};
use becket_events::Fallback;
use becket_hooks::{SettingsError, keys_of, parse_table, read_toml};
use becket_host::RunSettings;
use becket_system::CliError;
use becket_system::files::read_regular;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;

/// The largest file of settings that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// The settings of one context.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ContextSettings {
    /// The model, as `provider/name`.
    pub model: Option<String>,
    /// The sampling temperature.
    #[schemars(with = "Option<f64>")]
    pub temperature: Option<Spanned<f64>>,
    /// The longest answer, in tokens.
    pub max_tokens: Option<u64>,
    /// The most rounds of tool calls that one prompt may cause; 0 for no limit.
    pub fuel: Option<u32>,
    /// Who goes next after an answer: you (`call_user`) or the model again (`call_agent`).
    pub fallback: Option<Fallback>,
    /// Your name, for the model.
    pub username: Option<String>,
}

/// The settings that count in a context that was entered.
pub struct EnteredContext {
    /// becket's own settings of the context, completed from those of the other system.
    pub settings: ContextSettings,
    /// The settings that another system keeps beside the context.
    pub other: Option<RunSettings>,
    /// A remark for the user about a setting that was left out.
    pub remark: Option<String>,
}

impl ContextSettings {
    /// The keys of the file, which `becket context set` writes.
    pub fn keys() -> &'static [&'static str] {
        keys_of::<Self>()
    }

    /// The settings of a context.
    pub fn read(files: &ContextFiles) -> Result<Self, CliError> {
        let file = files.path(ContextFile::Settings);
        Ok(match text_of(&file)? {
            Some(text) => Self::parse(&text, &file)?,
            None => Self::default(),
        })
    }

    /// These settings, completed from those that another system keeps beside the context. `is_served` says whether a
    /// model can be had: a model of the other system that cannot be had is left out, and the remark says so.
    pub fn or(self, other: &RunSettings, is_served: &dyn Fn(&str) -> bool) -> (Self, Option<String>) {
        let (model, remark) = match (self.model, &other.model) {
            (None, Some(model)) => match model.served(is_served) {
                Ok(model) => (Some(model), None),
                Err(why) => (None, Some(why)),
            },
            (own, _) => (own, None),
        };
        let request = &other.request;
        let settings = Self {
            model,
            temperature: self
                .temperature
                .or(request.temperature.map(|degree| Spanned::new(0..0, degree))),
            max_tokens: self.max_tokens.or(request.max_tokens),
            fuel: self.fuel.or(other.fuel),
            fallback: self.fallback.or(other.fallback),
            username: self.username,
        };
        (settings, remark)
    }

    fn parse(text: &str, file: &Path) -> Result<Self, SettingsError> {
        let settings: Self = read_toml(text, file)?;
        let wrong = |degree: &&Spanned<f64>| !(degree.get_ref().is_finite() && *degree.get_ref() >= 0.0);
        if let Some(degree) = settings.temperature.as_ref().filter(wrong) {
            let message = "`temperature` is a number from 0 on".to_string();
            return Err(SettingsError::at(degree.span().start, text, file, message));
        }
        Ok(settings)
    }
}

/// Sets a key, or removes it if there is no value. Everything else in the file, comments included, stays as it is.
pub fn change(files: &ContextFiles, key: &str, value: Option<&str>) -> Result<(), CliError> {
    let file = files.path(ContextFile::Settings);
    let text = text_of(&file)?.unwrap_or_default();
    ContextSettings::parse(&text, &file)?;
    let line = value.map(|value| format!("{key} = {}\n", written(key, value)));
    if let Some(line) = &line {
        // By itself first: a mistake in the value is told as one, and not as a place in the file.
        ContextSettings::parse(line, &file).map_err(|error| {
            CliError::usage(format!(
                "`{key}` cannot be `{}`: {}",
                value.unwrap_or_default(),
                error.message
            ))
        })?;
    }
    let changed = with_line(&text, key, line.as_deref().unwrap_or_default(), &file)?;
    let told = |error: std::io::Error| CliError::failed(format!("cannot write {}: {error}", file.display()));
    files.write(ContextFile::Settings, &changed).map_err(told)
}

/// A value as it is written to the file: numbers as numbers, everything else in quotes.
fn written(key: &str, value: &str) -> String {
    let whole = value.parse().map(toml::Value::Integer).ok();
    let number = || value.parse().ok().filter(|number: &f64| number.is_finite());
    let number = whole.or_else(|| number().map(toml::Value::Float));
    number
        .filter(|_| !["model", "username"].contains(&key))
        .unwrap_or_else(|| value.into())
        .to_string()
}

/// The text with a line instead of the one for that key, or at its end.
fn with_line(text: &str, key: &str, line: &str, file: &Path) -> Result<String, CliError> {
    let table = parse_table(text)
        .map_err(|error| CliError::usage(format!("{}: {}", file.display(), error.message())))?;
    let place = table.get_ref().iter().find(|(name, _)| name.get_ref() == key);
    let Some((name, value)) = place else {
        let gap = if text.is_empty() || text.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        return Ok(format!("{text}{gap}{line}"));
    };
    let (start, end) = (name.span().start, value.span().end);
    let rest = &text[end..];
    // What stands behind the value in its line, such as a comment, stays with a new value and goes with the old one.
    let line_end = rest.find('\n').map_or(rest.len(), |end| end + 1);
    let rest = if line.is_empty() { &rest[line_end..] } else { rest };
    Ok(format!("{}{}{rest}", &text[..start], line.trim_end()))
}

fn text_of(file: &Path) -> Result<Option<String>, CliError> {
    match read_regular(file, MAX_BYTES) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.is_absence() => Ok(None),
        Err(error) => Err(CliError::usage(format!(
            "cannot read {}: {error}",
            file.display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_keeps_everything_else() {
        let text = "# mine\nmodel = \"a/b\" # for now\n\nfuel = 3\ntemperature = 1";
        let table = [
            (
                "model",
                Some("c/d"),
                "# mine\nmodel = \"c/d\" # for now\n\nfuel = 3\ntemperature = 1",
            ),
            ("model", None, "# mine\n\nfuel = 3\ntemperature = 1"),
            (
                "temperature",
                Some("0.5"),
                "# mine\nmodel = \"a/b\" # for now\n\nfuel = 3\ntemperature = 0.5",
            ),
            (
                "temperature",
                None,
                "# mine\nmodel = \"a/b\" # for now\n\nfuel = 3\n",
            ),
            (
                "max_tokens",
                Some("9"),
                "# mine\nmodel = \"a/b\" # for now\n\nfuel = 3\ntemperature = 1\nmax_tokens = 9\n",
            ),
            ("max_tokens", None, text.trim_end()),
        ];
        for (key, value, expected) in table {
            let line = value.map(|value| format!("{key} = {}\n", written(key, value)));
            let changed = with_line(text, key, &line.unwrap_or_default(), Path::new("f")).unwrap();
            assert_eq!(changed.trim_end(), expected.trim_end(), "{key} {value:?}");
            ContextSettings::parse(&changed, Path::new("f")).unwrap();
        }
    }

    #[test]
    fn every_key_is_one_of_the_file_and_every_value_stays_one_value() {
        let schema = schemars::schema_for!(ContextSettings).to_value();
        let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ContextSettings::keys());
        for value in [
            "a\nfuel = 1",
            "\"",
            "'''",
            "1\nfuel = 1",
            "007",
            "nan",
            "true",
            "",
        ] {
            let line = format!("model = {}\n", written("model", value));
            let settings = ContextSettings::parse(&line, Path::new("f")).unwrap();
            assert_eq!(settings.model.as_deref(), Some(value));
            assert_eq!(settings.fuel, None);
        }
    }

    #[test]
    fn temperatures_are_numbers_from_0_on() {
        for text in ["temperature = -0.1", "temperature = nan", "temperature = inf"] {
            let error = ContextSettings::parse(text, Path::new("f")).unwrap_err();
            assert!(error.message.contains("from 0 on"), "{error}");
        }
    }
}
