//! The context of a run: which one the command line asks for, and what the store makes of it.
//!
//! A switch (`-c`) counts once the hooks have agreed, inside of a session of the new context; a context that was made
//! for a switch that was refused is removed again. Where there is nothing to switch for, `-c` and `-C` are errors.

use becket_agent::{Lasting, Switch};
use becket_hooks::nearest;
use becket_store::{Claim, ContextName, SqliteStore};
use becket_system::CliError;

use crate::options::RunOptions;

/// The argument for a fresh context, also in `new:PREFIX`.
const FRESH: &str = "new";

/// The prefix of the names of unkept contexts.
pub const UNKEPT: &str = "unkept";

/// How many names are tried for a fresh context. Only a mistake makes so many in one second.
const MOST_FRESH: u32 = 1000;

/// The context that a command line asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextChoice {
    which: Which,
    /// How long the choice lasts; `None` if the user has chosen none.
    lasting: Option<Lasting>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Which {
    Current,
    Previous,
    Fresh {
        prefix: Option<String>,
    },
    Named(ContextName),
    /// The context of the session with this id.
    OfSession(String),
}

/// The context of a run.
#[derive(Debug)]
pub struct Target {
    /// The name of the context.
    pub name: ContextName,
    /// The switch to the context, if the user has chosen it.
    pub switch: Option<Switch>,
    /// Whether the name was made up for this run.
    pub is_fresh: bool,
    /// Keeps other processes out of the context until the run is over; `None` for a run that adds nothing to it.
    pub claim: Option<Claim>,
}

impl ContextChoice {
    /// The context that the options ask for.
    pub fn of(options: &RunOptions) -> Result<Self, CliError> {
        let (text, lasting) = match (&options.context, &options.transient) {
            (Some(text), _) => (text, Lasting::Always),
            (None, Some(text)) => (text, Lasting::ThisRun),
            (None, None) => return Ok(Self::unnamed(options)),
        };
        let which = match text.as_str() {
            "-" => Which::Previous,
            FRESH => Which::Fresh { prefix: None },
            text => match text.strip_prefix("new:") {
                Some("") => {
                    return Err(CliError::usage("`new:` needs a prefix after it")
                        .hint("`new:review` creates a name such as review_20260131_154500"));
                }
                Some(prefix) => Which::Fresh {
                    prefix: Some(parse_name(prefix)?.to_string()),
                },
                None => Which::Named(parse_name(text)?),
            },
        };
        Ok(Self {
            which,
            lasting: Some(lasting),
        })
    }

    /// The context of a run whose options name none.
    fn unnamed(options: &RunOptions) -> Self {
        let which = match &options.session {
            Some(session) => Which::OfSession(session.clone()),
            None if options.keeps_nothing => Which::Fresh {
                prefix: Some(UNKEPT.to_owned()),
            },
            None if options.is_fresh => Which::Fresh { prefix: None },
            None => Which::Current,
        };
        // Where a program starts becket, nobody leaves another conversation.
        Self { which, lasting: None }
    }

    /// A context that a command names. This does not make it the current one.
    pub fn named(name: ContextName) -> Self {
        Self {
            which: Which::Named(name),
            lasting: None,
        }
    }

    /// Finds the context and keeps other processes out of it.
    pub fn claim(self, store: &SqliteStore) -> Result<Target, CliError> {
        self.target(store, |name| claim(name, store).map(Some))
    }

    /// Finds the context for a run that adds nothing to it, so other processes may use it meanwhile.
    pub fn visit(self, store: &SqliteStore) -> Result<Target, CliError> {
        self.target(store, |_| Ok(None))
    }

    fn target(
        self,
        store: &SqliteStore,
        claim: impl Fn(&ContextName) -> Result<Option<Claim>, CliError>,
    ) -> Result<Target, CliError> {
        let from_context = store.chosen()?.current;
        let is_fresh = matches!(self.which, Which::Fresh { .. });
        let (name, claim) = match &self.which {
            Which::Fresh { prefix } => {
                let (name, claim) = claim_fresh(prefix.as_deref(), store)?;
                (name, Some(claim))
            }
            _ => {
                let name = self.find(store)?;
                let claim = claim(&name)?;
                (name, claim)
            }
        };
        let switch = self.lasting.map(|lasting| Switch {
            from_context,
            lasting,
        });
        Ok(Target {
            name,
            switch,
            is_fresh,
            claim,
        })
    }

    /// Finds the context, for commands that only read it.
    pub fn find(&self, store: &SqliteStore) -> Result<ContextName, CliError> {
        match &self.which {
            Which::Current => Ok(parse_name(&store.chosen()?.current)?),
            Which::Named(name) => Ok(name.clone()),
            Which::OfSession(session) => of_session(session, store),
            Which::Previous => match store.chosen()?.previous {
                Some(previous) => parse_name(&previous),
                None => Err(CliError::usage("there is no previous context yet")
                    .hint("`becket context list` lists them")),
            },
            Which::Fresh { .. } => Err(CliError::usage("a fresh context has nothing in it yet")
                .hint("name a context that exists, or use `becket context create NAME`")),
        }
    }
}

/// The context of the session whose id begins with this text, or the context of that name.
pub fn of_session(session: &str, store: &SqliteStore) -> Result<ContextName, CliError> {
    if store.context(session)?.is_some() {
        return parse_name(session);
    }
    let sessions = store.sessions(None)?;
    let mut contexts: Vec<&str> = sessions
        .iter()
        .filter(|known| known.id.starts_with(session))
        .map(|known| known.context.as_str())
        .collect();
    contexts.sort_unstable();
    contexts.dedup();
    match contexts.as_slice() {
        [context] => parse_name(context),
        [] => {
            Err(CliError::usage(format!("there is no session `{session}`"))
                .hint("`becket sessions` lists them"))
        }
        _ => Err(
            CliError::usage(format!("`{session}` is the beginning of several sessions' ids"))
                .hint("write more of it"),
        ),
    }
}

/// Parses the name of a context.
pub fn parse_name(text: &str) -> Result<ContextName, CliError> {
    if text == FRESH {
        return Err(CliError::usage(
            "`new` cannot be the name of a context: it means a fresh one",
        ));
    }
    ContextName::parse(text).map_err(|error| CliError::usage(error.to_string()))
}

/// Keeps other processes out of a context.
pub fn claim(name: &ContextName, store: &SqliteStore) -> Result<Claim, CliError> {
    store.claim(name)?.ok_or_else(|| {
        let process = store.claimed_by(name);
        let process = process.map_or(String::new(), |id| format!(" (process {id})"));
        CliError::failed(format!(
            "the conversation {name} is in use by another becket{process}"
        ))
        .hint("wait until that one has ended, or start another conversation with `-C new`")
    })
}

/// Claims a context for an import: the named one, which must be new, or a fresh one.
pub fn claim_new(
    named: Option<&str>,
    prefix: Option<&str>,
    store: &SqliteStore,
) -> Result<(ContextName, Claim), CliError> {
    let Some(named) = named else {
        return claim_fresh(prefix, store);
    };
    let name = parse_name(named)?;
    let claim = claim(&name, store)?;
    match store.context(name.as_str())? {
        None => Ok((name, claim)),
        Some(_) => Err(CliError::usage(format!("there is already a context `{name}`"))
            .hint("choose another name, or leave --to out for a fresh one")),
    }
}

/// Claims a context with a fresh name, such as `20260131_154500`.
pub fn claim_fresh(prefix: Option<&str>, store: &SqliteStore) -> Result<(ContextName, Claim), CliError> {
    let moment = becket_system::moments::now()
        .with_timezone(&chrono::Local)
        .format("%Y%m%d_%H%M%S");
    let name = prefix.map_or_else(|| moment.to_string(), |prefix| format!("{prefix}_{moment}"));
    for number in 1..=MOST_FRESH {
        let name = match number {
            1 => parse_name(&name)?,
            _ => parse_name(&format!("{name}_{number}"))?,
        };
        // First the claim: another process may look for a fresh name in the same second.
        if let Some(claim) = store.claim(&name)?
            && store.context(name.as_str())?.is_none()
        {
            return Ok((name, claim));
        }
    }
    Err(CliError::failed(format!("all names like {name} are taken")).hint("try again in a second"))
}

/// Checks that a context exists; the error suggests the nearest name.
pub fn known(name: ContextName, store: &SqliteStore) -> Result<ContextName, CliError> {
    let contexts = store.contexts()?;
    let mut names = contexts.iter().map(|context| context.name.as_str());
    if names.clone().any(|known| known == name.as_str()) {
        return Ok(name);
    }
    let error = CliError::usage(format!("there is no context `{name}`"));
    Err(match nearest(name.as_str(), names.by_ref()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`becket context list` lists them"),
    })
}
