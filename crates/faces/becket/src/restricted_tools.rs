//! Tools that settings name to forbid them or to ask about them. A name that no tool has protects nothing, so it is an
//! error. While a server or an extension may still bring the tool, it is told when all have started.

use std::fmt;

use becket_system::CliError;

use crate::assemble::{Loaded, Setup, exact_tool, tool_elsewhere, unknown_tool};
use crate::rule_spelling;

/// A name that a setting gives to a tool in order to restrict it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestrictedTool {
    /// The file of the setting, with the line where that is known.
    place: String,
    /// The setting in words.
    setting: String,
    /// The name.
    pub name: String,
    /// The setting's text as it should perhaps be.
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
        CliError::usage(self.to_string())
            .hint(hint.unwrap_or_else(|| "take it out if its tool is gone".into()))
    }
}

impl Loaded {
    /// Whether a tool has that name, in becket's words or in chibi's.
    fn has_tool(&self, name: &str) -> bool {
        let profile = &self.profile;
        unknown_tool(name).is_none()
            || profile.operation_of(name).is_some()
            || profile.extras.contains(&name)
            || profile.plurals.iter().any(|plural| plural.name == name)
            || self.guests.tool_names().iter().any(|tool| tool == name)
    }

    /// Whether a tool of that name may still come.
    fn may_still_bring(&self, name: &str) -> bool {
        self.guests.may_still_bring(name)
    }
}

impl Setup {
    /// The names in restricting settings that no tool has: of rules that deny and ask, and those that chibi's settings
    /// exclude.
    pub fn missing_tools(&self, loaded: &Loaded) -> Vec<RestrictedTool> {
        let rules = self.permissions().flat_map(|list| {
            let restricting = list.deny.iter().chain(&list.ask);
            restricting.filter_map(move |rule| {
                let text = rule.get_ref();
                let setting = format!("the rule `{text}`");
                let name = exact_tool(text)?;
                Some(RestrictedTool::new(list.place(rule), setting, name, text))
            })
        });
        let of_chibi = self.chibi_files().into_iter().flat_map(|(file, settings)| {
            let names = settings.tools.exclude.iter();
            let names = names.filter(|name| !becket_chibi::has_tool(name));
            names.map(move |name| {
                let setting = "`tools.exclude`".to_owned();
                RestrictedTool::new(file.display().to_string(), setting, name, name)
            })
        });
        let all = rules.chain(of_chibi);
        all.filter(|restricted| !loaded.has_tool(&restricted.name))
            .collect()
    }

    /// Names of tools to which chibi's settings restrict the model and that no tool has, in words for the user. They
    /// take nothing away and give nothing.
    pub fn idle_inclusions(&self, loaded: &Loaded) -> Vec<String> {
        let is_idle = |name: &&String| {
            !becket_chibi::has_tool(name) && !loaded.has_tool(name) && !loaded.may_still_bring(name)
        };
        let files = self.chibi_files().into_iter();
        let names = files.flat_map(|(file, settings)| {
            let names = settings.tools.include.iter().flatten().filter(is_idle);
            names.map(move |name| {
                let file = file.display();
                format!("{file}: `tools.include` names the tool `{name}`, which does not exist")
            })
        });
        names.collect()
    }

    /// Whether every tool is there that a setting restricts: the names that are to be looked at again when all servers
    /// and extensions have started, or an error about one that nobody will bring.
    pub fn check_restricted_tools(&self, loaded: &Loaded) -> Result<Vec<RestrictedTool>, CliError> {
        let missing = self.missing_tools(loaded);
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
}
