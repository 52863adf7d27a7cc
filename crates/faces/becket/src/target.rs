//! Which context a run is about: what the command line wishes for, and what the store makes of it.

use becket_agent::{Lasting, Switch};
use becket_hooks::nearest;
use becket_store::{Claim, ContextName, SqliteStore};
use becket_system::CliError;

use crate::args::{Options, PiOptions};

/// The word that stands for a fresh context, and for the beginning of its name in `new:PREFIX`.
const FRESH: &str = "new";

/// How the names of contexts begin that are not kept.
pub const UNKEPT: &str = "unkept";

/// How many names are tried for a fresh context. So many are made in one second only by mistake.
const MOST_FRESH: u32 = 1000;

/// A context as it was wished for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    which: Which,
    /// How long the choice lasts; `None` when the person chose nothing.
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
    /// The context of a session.
    OfSession(String),
}

/// The context of a run.
#[derive(Debug)]
pub struct Target {
    /// Its name.
    pub name: ContextName,
    /// The switch to it, if the person made a choice.
    pub switch: Option<Switch>,
    /// Whether its name was made up for this run.
    pub is_fresh: bool,
    /// Keeps all other processes out, until the run is over; `None` for a run that adds nothing to the context.
    pub claim: Option<Claim>,
}

impl Wish {
    /// What the command line says.
    pub fn of(options: &Options) -> Result<Self, CliError> {
        let (text, lasting) = match (&options.context, &options.transient) {
            (Some(text), _) => (text, Lasting::Always),
            (None, Some(text)) => (text, Lasting::ThisRun),
            (None, None) => return Ok(Self::in_pis_words(&options.pi)),
        };
        let which = match text.as_str() {
            "-" => Which::Previous,
            FRESH => Which::Fresh { prefix: None },
            text => match text.strip_prefix("new:") {
                Some("") => {
                    return Err(CliError::usage("`new:` needs the beginning of a name after it")
                        .hint("`new:review` makes a name such as review_20260131_154500"));
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

    /// What pi's options say.
    fn in_pis_words(options: &PiOptions) -> Self {
        let which = match &options.session {
            Some(session) => Which::OfSession(session.clone()),
            None if options.no_session => Which::Fresh {
                prefix: Some(UNKEPT.to_owned()),
            },
            None if options.mode.is_some() && !options.go_on => Which::Fresh { prefix: None },
            None => Which::Current,
        };
        // Where pi starts, nobody leaves another conversation.
        Self { which, lasting: None }
    }

    /// A context that a command names. It is not chosen by that.
    pub fn named(name: ContextName) -> Self {
        Self {
            which: Which::Named(name),
            lasting: None,
        }
    }

    /// Finds the context and keeps all other processes out of it.
    pub fn claim(self, store: &SqliteStore) -> Result<Target, CliError> {
        self.target(store, |name| claim(name, store).map(Some))
    }

    /// Finds the context for a run that adds nothing to it, and so disturbs nobody who works there.
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

    /// The context that is wished for, for commands that only look at it.
    pub fn find(&self, store: &SqliteStore) -> Result<ContextName, CliError> {
        match &self.which {
            Which::Current => Ok(parse_name(&store.chosen()?.current)?),
            Which::Named(name) => Ok(name.clone()),
            Which::OfSession(session) => of_session(session, store),
            Which::Previous => match store.chosen()?.previous {
                Some(previous) => parse_name(&previous),
                None => Err(CliError::usage("there is no previous context yet")
                    .hint("`becket contexts` lists those that there are")),
            },
            Which::Fresh { .. } => Err(CliError::usage("a fresh context has nothing in it yet")
                .hint("name a context that exists, or use `becket context create NAME`")),
        }
    }
}

/// The context of a session that is named by the beginning of its id, or a context by that name.
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
        [] => Err(CliError::usage(format!("there is no session `{session}`"))
            .hint("`becket sessions` lists those that there are")),
        _ => Err(
            CliError::usage(format!("`{session}` is the beginning of several sessions' ids"))
                .hint("write more of it"),
        ),
    }
}

/// A name as the person wrote it.
pub fn parse_name(text: &str) -> Result<ContextName, CliError> {
    if text == FRESH {
        return Err(CliError::usage(
            "`new` is no name for a context: it stands for a fresh one",
        ));
    }
    ContextName::parse(text).map_err(|error| CliError::usage(error.to_string()))
}

/// Keeps all other processes out of a context.
pub fn claim(name: &ContextName, store: &SqliteStore) -> Result<Claim, CliError> {
    store.claim(name)?.ok_or_else(|| {
        let process = store.claimed_by(name);
        let process = process.map_or(String::new(), |id| format!(" (process {id})"));
        CliError::failed(format!("the context {name} is in use by another becket{process}"))
            .hint("wait until that one has ended, or use another context: `-C new` makes a fresh one")
    })
}

/// The context for something that is brought there: the one that is named, which must be new, or a fresh one.
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

/// A name that nobody has, in the manner of `20260131_154500`.
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

/// A context that must be there; the nearest name if it is not.
pub fn known(name: ContextName, store: &SqliteStore) -> Result<ContextName, CliError> {
    let contexts = store.contexts()?;
    let mut names = contexts.iter().map(|context| context.name.as_str());
    if names.clone().any(|known| known == name.as_str()) {
        return Ok(name);
    }
    let error = CliError::usage(format!("there is no context `{name}`"));
    Err(match nearest(name.as_str(), names.by_ref()) {
        Some(near) => error.hint(format!("did you mean `{near}`?")),
        None => error.hint("`becket contexts` lists those that there are"),
    })
}
