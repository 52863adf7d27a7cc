//! The table `[agent_hooks]` of the settings. It is a host declaration in becket's own spelling.

use std::path::{Path, PathBuf};
use std::time::Duration;

use becket_hooks::{CommandLine, SectionSettings};
use becket_system::CliError;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::composition::{CompositionProfile, OnApproval, Synthesis, WrittenComposition};
use crate::declaration::{
    Configuration, Declaration, Timeouts, WrittenApproval, WrittenBinding, WrittenIdentity,
};
use crate::interceptor::Identity;
use crate::point::Point;
use crate::programs::{COMMAND, WORKER};
use crate::record::Mode;

/// Interceptors of the standard AGENT-HOOKS.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentHooksConfig {
    /// Whether to ask interceptors at the eight points of the standard; default: false. If so, a point without an
    /// interceptor denies.
    pub enabled: Option<bool>,
    /// A host declaration of the standard, in place of all other settings in this table but `approval_command`; a
    /// relative path is relative to the folder of this file.
    pub declaration: Option<PathBuf>,
    /// Whether verdicts apply, or are only recorded; default: `enforce`.
    pub mode: Mode,
    /// How the verdicts of several interceptors are combined; default: `sequential/first_deny`.
    pub profile: Option<CompositionProfile>,
    /// With `sequential/first_deny`: what happens after a deny is lifted; default: `stop`.
    pub on_approval: Option<OnApproval>,
    /// With `parallel/unanimous`: what happens if not all allow; default: `deny`.
    pub on_disagreement: Option<Synthesis>,
    /// With `parallel/strictest`: what happens if two interceptors transform; default: `deny`.
    pub on_transform_conflict: Option<Synthesis>,
    /// How records and approvals identify the action that they belong to; default: `jcs-sha256`.
    pub identity: IdentityChoice,
    /// Who may lift a deny that can be lifted; default: `none`.
    pub approval: ApprovalChoice,
    /// The program that approves: it reads a request of the standard on stdin and writes a resolution to stdout.
    pub approval_command: Option<CommandLine>,
    /// How many seconds an approval may take; default: 3600 by the user, else 5.
    pub approval_timeout: Option<f64>,
    /// Judge and show streamed text piece by piece; default: false. A deny cannot take back what was already shown.
    pub incremental_output: bool,
    /// How many seconds an interceptor may take; default: 5.
    pub timeout: Option<f64>,
    /// The interceptors, in the order in which they are asked.
    pub interceptor: Vec<InterceptorSettings>,
}

/// A program that judges what the agent does.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterceptorSettings {
    /// The name in records: up to 64 characters of a-z, 0-9, `_` and `-`.
    pub name: String,
    /// The program: it reads a context of the standard on stdin and writes a verdict to stdout.
    pub command: CommandLine,
    /// Whether the program stays alive and reads and writes one line for each context; default: false.
    #[serde(default)]
    pub worker: bool,
    /// The points at which it is asked; default: all.
    #[serde(default)]
    pub at: Option<Vec<Point>>,
    /// How many seconds this one may take; default: the `timeout` of the table.
    #[serde(default)]
    pub timeout: Option<f64>,
}

/// How records and approvals are bound to what they are about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum IdentityChoice {
    /// By a hash of the canonical JSON.
    #[default]
    #[serde(rename = "jcs-sha256")]
    JcsSha256,
    /// Not at all.
    #[serde(rename = "none")]
    None,
}

/// Who may lift a deny.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalChoice {
    /// Nobody: every deny stands.
    #[default]
    None,
    /// The user.
    User,
    /// Hooks of `permission_request`.
    Hooks,
    /// The program of `approval_command`.
    Program,
}

impl ApprovalChoice {
    /// The name by which a document refers to it.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::User => Some("user"),
            Self::Hooks => Some("hooks"),
            Self::Program => Some("program"),
        }
    }
}

/// How many milliseconds the user may take.
const USERS_TIMEOUT_MS: u64 = 3_600_000;

impl SectionSettings for AgentHooksConfig {
    const NAME: &'static str = "agent_hooks";
    const ABOUT: &'static str = "Interceptors of the standard AGENT-HOOKS.";
}

impl AgentHooksConfig {
    /// The declaration that the settings are; `None` if they are turned off.
    pub fn declaration(&self, folder: &Path) -> Result<Option<Declaration>, CliError> {
        let is_set_up = self.declaration.is_some() || !self.interceptor.is_empty();
        match self.enabled {
            Some(true) => {}
            None if is_set_up => {
                let words = "[agent_hooks] has interceptors, and does not say whether they are asked";
                return Err(CliError::usage(words).hint("set `enabled = true` there, or `enabled = false`"));
            }
            Some(false) | None => return Ok(None),
        }
        if let Some(file) = &self.declaration {
            let file = folder.join(file);
            if self.is_more_than_a_file() {
                let words = "[agent_hooks] names a declaration and has settings of its own beside it";
                return Err(CliError::usage(words).hint("keep one of the two"));
            }
            let read = Declaration::read_file(&file);
            return read.map(Some).map_err(|refused| {
                CliError::usage(format!("{}: {refused}", file.display()))
                    .hint("correct the document, or remove `declaration` from [agent_hooks]")
            });
        }
        // Read back like any document, so that one set of checks judges both.
        let document = serde_json::to_value(self.written()).unwrap_or_default();
        let read = Declaration::read(document);
        read.map(Some).map_err(|refused| {
            CliError::usage(format!("[agent_hooks] is wrong: {refused}"))
                .hint("`becket config schema` shows what can stand there")
        })
    }

    fn is_more_than_a_file(&self) -> bool {
        !self.interceptor.is_empty()
            || self.written().configuration != Configuration::default()
            || self.incremental_output
    }

    fn written(&self) -> Declaration {
        let timeout = self.approval_timeout.map(milliseconds);
        let by_user = (self.approval == ApprovalChoice::User).then_some(USERS_TIMEOUT_MS);
        let configuration = Configuration {
            mode: self.mode,
            composition: WrittenComposition {
                profile: self.profile,
                on_approval: self.on_approval,
                on_disagreement: self.on_disagreement,
                on_transform_conflict: self.on_transform_conflict,
            },
            identity_provider: WrittenIdentity(match self.identity {
                IdentityChoice::JcsSha256 => Some(Identity::JCS_SHA256.into()),
                IdentityChoice::None => None,
            }),
            approval: WrittenApproval {
                resolver: self.approval.name().map(Into::into),
                redactor: None,
            },
            timeouts: Timeouts {
                interceptor_ms: self.timeout.map(milliseconds),
                approval_resolver_ms: timeout.or(by_user),
            },
            ..Configuration::default()
        };
        let bindings = self.interceptor.iter().map(InterceptorSettings::written);
        let declaration = Declaration::new(configuration, bindings.collect());
        match self.incremental_output {
            true => declaration.incremental(),
            false => declaration,
        }
    }
}

impl InterceptorSettings {
    fn written(&self) -> WrittenBinding {
        let command: Value = match &self.command {
            CommandLine::Shell(line) => json!(line),
            CommandLine::Exec(words) => json!(words),
        };
        WrittenBinding {
            id: self.name.clone(),
            kind: if self.worker { WORKER } else { COMMAND }.into(),
            config: json!({"command": command}),
            at: self.at.clone(),
            timeout_ms: self.timeout.map(milliseconds),
        }
    }
}

/// Seconds as milliseconds; what is no duration becomes 0, which no document may have.
fn milliseconds(seconds: f64) -> u64 {
    let duration = Duration::try_from_secs_f64(seconds).unwrap_or_default();
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
