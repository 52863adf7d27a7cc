//! The policy for addresses of the web, from wherever the person has written it.
//!
//! The policy of a context counts before the person's own, and that before the one of a chibi home; they are not mixed,
//! except that what the person denies in `deny_override` stays denied everywhere.

use std::path::Path;

use becket_agent::url_policy::{PolicyLists, UrlJudge, UrlPolicy, UrlVerdict};
use becket_chibi::{UrlAction, UrlRules};
use becket_system::CliError;
use toml::Spanned;

use crate::assemble::Setup;
use crate::chibi_settings::FileSettings;
use crate::config::{UrlDefault, UrlPolicyConfig};

impl Setup {
    /// Who judges addresses in this run.
    pub fn url_judge(&self) -> Result<UrlJudge, CliError> {
        let own = self.config.url_policy.as_ref();
        let rules = |settings: Option<&FileSettings>| {
            settings.and_then(|(file, settings)| Some((file.clone(), settings.url_policy.clone()?)))
        };
        let policy = match (rules(self.context.local.as_ref()), own) {
            (Some((file, rules)), own) => {
                let mut lists = lists_of(&rules);
                lists
                    .deny_override
                    .extend(own.into_iter().flat_map(|own| texts(&own.deny_override)));
                Some(read(&lists, action(&rules), &file)?)
            }
            (None, Some(own)) => Some(read(
                &own_lists(own),
                own.default.into(),
                &self.folders.config_file(),
            )?),
            (None, None) => rules(self.chibi_home_settings()?)
                .map(|(file, rules)| read(&lists_of(&rules), action(&rules), &file))
                .transpose()?,
        };
        Ok(UrlJudge::new(policy))
    }
}

fn read(lists: &PolicyLists, default: UrlVerdict, file: &Path) -> Result<UrlPolicy, CliError> {
    UrlPolicy::parse(lists, default).map_err(|message| wrong(file, &format!("url_policy.{message}")))
}

/// Which addresses are denied must be known, so nothing runs before it can be read.
fn wrong(file: &Path, message: &str) -> CliError {
    CliError::usage(format!("{}: {message}", file.display()))
}

fn texts(rules: &[Spanned<String>]) -> Vec<String> {
    rules.iter().map(|rule| rule.get_ref().clone()).collect()
}

fn own_lists(config: &UrlPolicyConfig) -> PolicyLists {
    PolicyLists {
        deny_override: texts(&config.deny_override),
        allow_override: texts(&config.allow_override),
        deny: texts(&config.deny),
        allow: texts(&config.allow),
    }
}

fn lists_of(rules: &UrlRules) -> PolicyLists {
    PolicyLists {
        deny_override: rules.deny_override.clone(),
        allow_override: rules.allow_override.clone(),
        deny: rules.deny.clone(),
        allow: rules.allow.clone(),
    }
}

fn action(rules: &UrlRules) -> UrlVerdict {
    match rules.default {
        UrlAction::Allow => UrlVerdict::Allow,
        UrlAction::Deny => UrlVerdict::Deny,
    }
}

impl From<UrlDefault> for UrlVerdict {
    fn from(default: UrlDefault) -> Self {
        match default {
            UrlDefault::Ask => Self::Ask,
            UrlDefault::Allow => Self::Allow,
            UrlDefault::Deny => Self::Deny,
        }
    }
}
