//! The policy for URLs, from wherever the user has written it.
//!
//! The policy of a context counts before the user's own, and that before the one of another system's home. They are not
//! mixed, or nobody could say which rule counts. Only what the user denies in `deny_override` stays denied everywhere.

use std::path::Path;

use becket_agent::url_policy::{PolicyLists, UrlJudge, UrlPolicy, UrlVerdict};
use becket_host::RunSettings;
use becket_system::CliError;
use toml::Spanned;

use crate::config::{UrlDefault, UrlPolicyConfig};
use crate::setup::Setup;

/// The judge of URLs in this run.
pub fn url_judge(setup: &Setup) -> Result<UrlJudge, CliError> {
    let own = setup.config.url_policy.as_ref();
    let rules = |settings: &RunSettings| Some((settings.file.clone(), settings.urls.clone()?));
    let policy = match (setup.guest_settings.context.as_ref().and_then(rules), own) {
        (Some((file, (mut lists, default))), own) => {
            lists
                .deny_override
                .extend(own.into_iter().flat_map(|own| texts(&own.deny_override)));
            Some(read(&lists, default, &file)?)
        }
        (None, Some(own)) => Some(read(
            &own_lists(own),
            own.default.into(),
            &setup.folders.config_file(),
        )?),
        (None, None) => setup
            .guest_settings
            .home()?
            .and_then(rules)
            .map(|(file, (lists, default))| read(&lists, default, &file))
            .transpose()?,
    };
    Ok(UrlJudge::new(policy))
}

fn read(lists: &PolicyLists, default: UrlVerdict, file: &Path) -> Result<UrlPolicy, CliError> {
    UrlPolicy::parse(lists, default).map_err(|message| wrong(file, &format!("url_policy.{message}")))
}

/// An error in the policy. Nothing runs until it can be read, since it says which URLs are denied.
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

impl From<UrlDefault> for UrlVerdict {
    fn from(default: UrlDefault) -> Self {
        match default {
            UrlDefault::Ask => Self::Ask,
            UrlDefault::Allow => Self::Allow,
            UrlDefault::Deny => Self::Deny,
        }
    }
}
