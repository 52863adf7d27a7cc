//! Tools that settings name to forbid them or to ask about them. A name that no tool has protects nothing, so it is an
//! error. While a server or an extension may still bring the tool, it is told when all have started.

use std::fmt;

use becket_system::CliError;

use crate::loading::Loaded;
use crate::rule_spelling;
use crate::setup::Setup;
use crate::tool_names::{exact_tool, tool_elsewhere, unknown_tool};

/// A name that a setting gives to a tool in order to restrict it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestrictedTool {
    /// The file of the setting, with the line where that is known.
    place: String,
    /// The setting in words.
    setting: String,
    /// The name of the tool.
    pub name: String,
    /// A suggestion for the setting's text.
    meant: Option<String>,
}

impl fmt::Display for RestrictedTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place, setting, name, ..
        } = self;
        write!(
            formatter,
            "{place}: {setting} names the tool `{name}`, which does not exist, so it would forbid nothing"
        )
    }
}

impl RestrictedTool {
    fn new(place: String, setting: String, name: &str, text: &str) -> Self {
        let own = rule_spelling::own_name(name);
        Self {
            place,
            setting,
            name: name.to_owned(),
            meant: own.map(|own| format!("becket calls it `{own}`: {}", text.replacen(name, own, 1))),
        }
    }

    fn error(&self) -> CliError {
        let hint = self.meant.clone();
        CliError::usage(self.to_string()).hint(hint.unwrap_or_else(|| "remove it if its tool is gone".into()))
    }
}

impl Loaded {
    /// Whether a tool has that name.
    fn has_tool(&self, name: &str) -> bool {
        let profile = &self.profile;
        unknown_tool(name).is_none()
            || profile.operation_of(name).is_some()
            || profile.extras.contains(&name)
            || profile.plurals.iter().any(|plural| plural.name == name)
            || self.guests.tool_names().iter().any(|tool| tool == name)
    }

    /// Whether a guest may still bring a tool of that name.
    fn may_still_bring(&self, name: &str) -> bool {
        self.guests.may_still_bring(name)
    }
}

/// The names in restricting settings that no tool has: of rules that deny and ask, and those that other
/// systems' settings exclude.
pub fn missing_tools(setup: &Setup, loaded: &Loaded) -> Vec<RestrictedTool> {
    let rules = setup.permissions().flat_map(|list| {
        let restricting = list.deny.iter().chain(&list.ask);
        restricting.filter_map(move |rule| {
            let text = rule.get_ref();
            let setting = format!("the rule `{text}`");
            let name = exact_tool(text)?;
            Some(RestrictedTool::new(list.place(rule), setting, name, text))
        })
    });
    let of_guests = setup.guest_settings.files().flat_map(|settings| {
        settings.excluded.iter().map(|name| {
            let setting = "`tools.exclude`".to_owned();
            RestrictedTool::new(settings.file.display().to_string(), setting, name, name)
        })
    });
    let all = rules.chain(of_guests);
    all.filter(|restricted| !loaded.has_tool(&restricted.name))
        .collect()
}

/// Names of tools to which other systems' settings restrict the model and that no tool has, in words for the user. They
/// take nothing away and give nothing.
pub fn idle_inclusions(setup: &Setup, loaded: &Loaded) -> Vec<String> {
    let is_idle = |name: &&String| !loaded.has_tool(name) && !loaded.may_still_bring(name);
    let names = setup.guest_settings.files().flat_map(|settings| {
        let names = settings.included.iter().filter(is_idle);
        names.map(|name| {
            let file = settings.file.display();
            format!("{file}: `tools.include` names the tool `{name}`, which does not exist")
        })
    });
    names.collect()
}

/// Checks that every tool exists that a setting restricts. Returns the names to check again when all servers and
/// extensions have started, or an error about one that nobody will bring.
pub fn check_restricted_tools(setup: &Setup, loaded: &Loaded) -> Result<Vec<RestrictedTool>, CliError> {
    let missing = missing_tools(setup, loaded);
    let is_hopeless = |missing: &&RestrictedTool| {
        let name = &missing.name;
        let is_foreign = tool_elsewhere(&name.to_lowercase()).is_some();
        is_foreign || !loaded.may_still_bring(name)
    };
    match missing.iter().find(is_hopeless) {
        Some(hopeless) => Err(hopeless.error()),
        None => Ok(missing),
    }
}
