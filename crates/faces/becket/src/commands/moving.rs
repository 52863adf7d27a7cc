//! How a running session goes on elsewhere: in a new conversation, an earlier one, a fork, at another entry, or with
//! its extensions and resources loaded anew. There is one way for all who want it: the person in a chat, commands of
//! extensions, and programs that steer becket. The last two wish for it at the desk.
//!
//! Extensions that bring along what they knew of one conversation would mix it up with another. So each of them is
//! loaded anew between two sessions, as in pi.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use becket_agent::context_files::{ContextFile, ContextFiles};
use becket_agent::desk::{Destination, Moved, Planter, Site, Wish};
use becket_agent::store::{Origin, Seed, Store, fresh_id};
use becket_agent::{
    Consent, Fork, Forked, GoTo, GoToEnd, Lasting, Position, Refused, Replacement, RunEnd, Session,
    SessionJudge,
};
use becket_events::SwitchReason;
use becket_host::{Found, Place};
use becket_pi::host::FoundExtensions;
use becket_store::{Claim, ContextName, Lifetime, SqliteStore};
use becket_system::{CliError, Surroundings};
use becket_trust::Trust;
use tokio_util::sync::CancellationToken;

use super::sessions::{bring, without_moment};
use crate::args::Options;
use crate::assemble::{Assembled, Setup};
use crate::lifetimes::destroy_unkept;
use crate::target::{UNKEPT, claim, claim_fresh, of_session, parse_name};

/// After how long without use a context is destroyed that was not to be kept, where the program could not do it.
const LEFT_BEHIND_MS: u64 = 24 * 60 * 60 * 1000;

/// How it ended, or why nothing has changed.
pub type End = Result<Moved, String>;

/// What a session stands on, whichever conversation it is in.
pub struct Grounds {
    pub options: Options,
    pub surroundings: Surroundings,
    pub setup: Setup,
}

/// What is there while somebody goes elsewhere.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    pub grounds: &'a Grounds,
    pub assembled: &'a Assembled,
}

/// The session that runs now.
pub struct Seat {
    /// None while another one takes its place, and after that could not begin.
    session: Option<Session>,
    standing: Standing,
    /// Where it goes on next, because hooks have agreed while something ran.
    agreed: Option<Agreed>,
    /// Contexts that are not to be kept.
    unkept: Vec<ContextName>,
}

/// Where the session is, and what was found for it.
struct Standing {
    name: ContextName,
    /// Keeps other processes out of the context until the session is closed. A call of a tool needs none: it adds
    /// nothing to the conversation, and a plugin may make one in the middle of a prompt.
    claim: Option<Claim>,
    /// Contexts that files were brought into.
    brought: HashMap<PathBuf, ContextName>,
}

/// A context, and that no other process works there.
type Claimed = (ContextName, Claim);

/// Another conversation that is ready to be gone to.
enum Journey {
    New {
        replacement: Replacement,
        place: Claimed,
        parent_file: Option<String>,
        planter: Option<Planter>,
    },
    Earlier {
        replacement: Replacement,
        place: Claimed,
        /// Whether its context was made for a file just now.
        was_brought: bool,
    },
    Fork {
        fork: Fork,
        place: Claimed,
        lasting: Lasting,
    },
}

/// A wish that hooks have agreed to.
struct Agreed {
    wish: Wish,
    journey: Journey,
    consent: Consent,
}

impl Seat {
    pub fn new(session: Session, name: ContextName, claim: Option<Claim>) -> Self {
        Self {
            session: Some(session),
            standing: Standing {
                name,
                claim,
                brought: HashMap::new(),
            },
            agreed: None,
            unkept: Vec::new(),
        }
    }

    pub fn session(&self) -> &Session {
        self.session
            .as_ref()
            .expect("a session that is lost ends the run")
    }

    pub fn session_mut(&mut self) -> &mut Session {
        self.session
            .as_mut()
            .expect("a session that is lost ends the run")
    }

    /// The session at its end; `None` if it was lost on the way.
    pub fn take_session(&mut self) -> Option<Session> {
        self.session.take()
    }

    /// The context that the session is in.
    pub fn context_name(&self) -> &ContextName {
        &self.standing.name
    }

    /// Does what was asked for at the desk while nothing ran, and says how the last run ended if there was one. What
    /// was said comes first: it was said to this conversation.
    pub async fn attend(
        &mut self,
        around: Around<'_>,
        cancel: CancellationToken,
    ) -> Result<Option<RunEnd>, CliError> {
        let end = self
            .work(around, &cancel, async |session: &mut Session| {
                session.attend(cancel.clone()).await
            })
            .await?;
        around.assembled.extensions.renew_session_file();
        let Some(desk) = &around.assembled.agent.desk else {
            return Ok(end);
        };
        if let Some(Agreed {
            wish,
            journey,
            consent,
        }) = self.agreed.take()
        {
            let moved = Box::pin(self.depart(journey, consent, around, &cancel)).await;
            fulfil(wish, moved)?;
        }
        while let Some(wish) = desk.take_move() {
            let moved = Box::pin(self.go(wish.to.clone(), around, &cancel)).await;
            fulfil(wish, moved)?;
        }
        Ok(end)
    }

    /// Lets the session work. Hooks hear beside it of whoever wants to go on in another conversation meanwhile; what
    /// the session does is ended when they have agreed, and goes on when they have not.
    pub async fn work<T>(
        &mut self,
        around: Around<'_>,
        cancel: &CancellationToken,
        work: impl AsyncFnOnce(&mut Session) -> T,
    ) -> T {
        let Self {
            session,
            standing,
            agreed,
            ..
        } = self;
        let session = session.as_mut().expect("a session that is lost ends the run");
        let judge = session.judge();
        // Boxed, because a run is a future of great depth.
        let mut working = Box::pin(work(session));
        let Some(desk) = &around.assembled.agent.desk else {
            return working.await;
        };
        loop {
            let wish = tokio::select! {
                biased;
                end = &mut working => return end,
                wish = desk.interrupted() => wish,
            };
            let mut considering = Box::pin(standing.consider(wish, &judge, around, cancel));
            let considered = tokio::select! {
                biased;
                considered = &mut considering => considered,
                end = &mut working => {
                    *agreed = considering.await;
                    return end;
                }
            };
            if considered.is_some() {
                *agreed = considered;
                desk.abort();
                return working.await;
            }
        }
    }

    /// Goes on elsewhere. Where the inner result says that nothing has changed, everything is as it was; the outer
    /// error leaves no session.
    pub async fn go(
        &mut self,
        to: Destination,
        around: Around<'_>,
        cancel: &CancellationToken,
    ) -> Result<End, CliError> {
        match to {
            Destination::Entry { entry_id, how } => self.go_to(&entry_id, how, cancel).await,
            Destination::Reloaded => Ok(self.reload(around).await),
            elsewhere => match self.standing.prepare(elsewhere, around).await {
                Ok(journey) => self.set_out(journey, around, cancel).await,
                Err(error) => Ok(Err(error.to_string())),
            },
        }
    }

    /// Goes on in a fork of the conversation, in a context that is claimed for it.
    pub async fn fork(
        &mut self,
        entry_id: String,
        position: Position,
        place: Claimed,
        around: Around<'_>,
        cancel: &CancellationToken,
    ) -> Result<End, CliError> {
        let journey = Journey::fork(entry_id, position, place, Lasting::ThisRun);
        self.set_out(journey, around, cancel).await
    }

    /// Goes on in another conversation, if no hook minds.
    async fn set_out(
        &mut self,
        journey: Journey,
        around: Around<'_>,
        cancel: &CancellationToken,
    ) -> Result<End, CliError> {
        match journey.consent(&self.session().judge(), cancel).await {
            Ok(consent) => self.depart(journey, consent, around, cancel).await,
            Err(Refused(reason)) => {
                self.standing.give_up(journey, around).await?;
                Ok(Ok(Moved::Refused(reason)))
            }
        }
    }

    /// Goes on in another conversation, which hooks have agreed to.
    async fn depart(
        &mut self,
        journey: Journey,
        consent: Consent,
        around: Around<'_>,
        cancel: &CancellationToken,
    ) -> Result<End, CliError> {
        let session = self.take_session().expect("a session that is lost ends the run");
        match journey {
            Journey::New {
                replacement,
                place,
                parent_file,
                planter,
            } => {
                let site = Site {
                    session_id: replacement.session_id.clone(),
                    files: ContextFiles::new(&around.grounds.setup.contexts(), place.0.as_str()),
                    parent_file,
                };
                let mut trouble = None;
                let meanwhile = async || {
                    let seed = planted(planter, site, &mut trouble).await;
                    around.renew().await;
                    seed
                };
                let next = session.leave_for(replacement, consent, cancel.clone(), meanwhile);
                let next = Box::pin(next).await?;
                self.sit_down(next, place, Lasting::ThisRun, around).await?;
                self.mark_if_unkept(around).await?;
                Ok(trouble.map_or(Ok(Moved::Went { text: None }), Err))
            }
            Journey::Earlier {
                replacement, place, ..
            } => {
                let meanwhile = async || {
                    around.renew().await;
                    None
                };
                let next = session.leave_for(replacement, consent, cancel.clone(), meanwhile);
                let next = Box::pin(next).await?;
                self.sit_down(next, place, Lasting::ThisRun, around).await?;
                Ok(Ok(Moved::Went { text: None }))
            }
            Journey::Fork { fork, place, lasting } => {
                let meanwhile = async || around.renew().await;
                let forked = session.fork(fork, consent, cancel.clone(), meanwhile);
                let (next, text) = match Box::pin(forked).await? {
                    Forked::Forked { session, text } => (*session, text),
                    Forked::NoEntry(session) => {
                        self.session = Some(*session);
                        return Ok(Err("there is no such entry".into()));
                    }
                };
                self.sit_down(next, place, lasting, around).await?;
                self.mark_if_unkept(around).await?;
                Ok(Ok(Moved::Went { text }))
            }
        }
    }

    /// Another session is the one that runs.
    async fn sit_down(
        &mut self,
        session: Session,
        (name, claim): Claimed,
        lasting: Lasting,
        around: Around<'_>,
    ) -> Result<(), CliError> {
        self.session = Some(session);
        (self.standing.name, self.standing.claim) = (name, Some(claim));
        if lasting == Lasting::Always {
            let store = &around.assembled.store;
            store.make_current(self.standing.name.as_str()).await?;
        }
        around.assembled.extensions.renew_session_file();
        Ok(())
    }

    /// A conversation that was made here is kept if the command line does not say otherwise.
    async fn mark_if_unkept(&mut self, around: Around<'_>) -> Result<(), CliError> {
        match around.grounds.options.pi.no_session {
            true => self.mark_unkept(&around.assembled.store).await,
            false => Ok(()),
        }
    }

    async fn go_to(
        &mut self,
        entry_id: &str,
        how: GoTo,
        cancel: &CancellationToken,
    ) -> Result<End, CliError> {
        let end = self.session_mut().go_to(entry_id, how, cancel.clone()).await?;
        Ok(match end {
            GoToEnd::Went { text, .. } => Ok(Moved::Went { text }),
            GoToEnd::AlreadyThere => Ok(Moved::Went { text: None }),
            GoToEnd::Refused(reason) => Ok(Moved::Refused(reason)),
            GoToEnd::Cancelled => Ok(Moved::Refused("cancelled".into())),
            GoToEnd::NoEntry => Err(format!("Entry {entry_id} not found")),
            GoToEnd::Provider(error) => Err(error.message),
            GoToEnd::NoSummary(words) => Err(words.into()),
        })
    }

    /// Loads extensions and resources as their files are now.
    async fn reload(&mut self, around: Around<'_>) -> End {
        let Grounds {
            options,
            surroundings,
            setup,
        } = around.grounds;
        let told = |error: CliError| error.to_string();
        // What has changed since is judged anew.
        let trust = Trust::open(options.trust, &setup.folders, surroundings, &setup.project_root);
        let place = Place {
            trust: &trust,
            ..setup.place(surroundings)
        };
        let found = FoundExtensions::find(&place).map_err(told)?;
        if let Some(refusal) = found.refusal() {
            return Err(refusal.to_string());
        }
        let (resources, remarks) = match setup.team {
            Some(_) => Default::default(),
            None => found.resources(&place).map_err(told)?,
        };
        for remark in found.found.remarks.iter().chain(&remarks) {
            surroundings.remark(remark);
        }
        around.assembled.shelf.renew(resources);
        around.assembled.extensions.reload(&found.found.extensions).await;
        self.session().refill_shelf().await;
        Ok(Moved::Went { text: None })
    }

    /// The context that the session is in is not to be kept. Should the program be killed, a later one destroys it.
    pub async fn mark_unkept(&mut self, store: &SqliteStore) -> Result<(), CliError> {
        let lifetime = Lifetime {
            destroy_at_ms: None,
            destroy_after_ms: Some(LEFT_BEHIND_MS),
        };
        store.set_lifetime(&self.standing.name, lifetime).await?;
        self.unkept.push(self.standing.name.clone());
        Ok(())
    }

    /// Destroys what is not to be kept.
    pub async fn destroy_unkept(&self, around: Around<'_>) {
        let Grounds {
            setup, surroundings, ..
        } = around.grounds;
        for name in &self.unkept {
            destroy_unkept(&around.assembled.store, setup, name, surroundings).await;
        }
    }
}

impl Standing {
    /// Asks hooks about a wish in the middle of what the session does. Whoever wishes for what they refuse is told.
    async fn consider(
        &mut self,
        wish: Wish,
        judge: &SessionJudge,
        around: Around<'_>,
        cancel: &CancellationToken,
    ) -> Option<Agreed> {
        let journey = match self.prepare(wish.to.clone(), around).await {
            Ok(journey) => journey,
            Err(error) => {
                wish.answer(Err(error.to_string()));
                return None;
            }
        };
        match journey.consent(judge, cancel).await {
            Ok(consent) => Some(Agreed {
                wish,
                journey,
                consent,
            }),
            Err(Refused(reason)) => {
                let given_up = self.give_up(journey, around).await;
                let refused = given_up.map(|()| Moved::Refused(reason));
                wish.answer(refused.map_err(|error| error.to_string()));
                None
            }
        }
    }

    /// Finds and claims the context in which another conversation is to go on.
    async fn prepare(&mut self, to: Destination, around: Around<'_>) -> Result<Journey, CliError> {
        let store = &around.assembled.store;
        let unkept = around.grounds.options.pi.no_session.then_some(UNKEPT);
        match to {
            Destination::New { parent_file, planter } => {
                let place = claim_fresh(unkept, store)?;
                Ok(Journey::New {
                    replacement: around.replacement(&place.0, SwitchReason::New),
                    place,
                    parent_file,
                    planter,
                })
            }
            Destination::Earlier(which) => {
                let (name, was_brought) = self.find(&which, around).await?;
                let sessions = store.sessions(Some(name.as_str()))?;
                let claimed = match (&mut self.claim, name == self.name) {
                    (own, true) => own.take().map_or_else(|| claim(&name, store), Ok)?,
                    _ => claim(&name, store)?,
                };
                let mut replacement = around.replacement(&name, SwitchReason::Resume);
                replacement.target_session_id = sessions.first().map(|session| session.id.clone());
                Ok(Journey::Earlier {
                    replacement,
                    place: (name, claimed),
                    was_brought,
                })
            }
            Destination::Fork { entry_id, position } => {
                let prefix = unkept.or_else(|| without_moment(self.name.as_str()));
                let place = claim_fresh(prefix, store)?;
                Ok(Journey::fork(entry_id, position, place, around.lasting()))
            }
            Destination::Entry { .. } | Destination::Reloaded => {
                Err(CliError::failed("that is no other conversation"))
            }
        }
    }

    /// Nobody goes there: everything is as it was.
    async fn give_up(&mut self, journey: Journey, around: Around<'_>) -> Result<(), CliError> {
        let Journey::Earlier {
            place: (name, claim),
            was_brought,
            ..
        } = journey
        else {
            return Ok(());
        };
        // It may have been lent for the same context.
        if name == self.name {
            self.claim = Some(claim);
        }
        if was_brought {
            self.brought.retain(|_, brought| *brought != name);
            around.assembled.store.delete_context(&name).await?;
        }
        Ok(())
    }

    /// The context that is meant, and whether it was made just now. A file of another program's is brought into one.
    async fn find(&mut self, which: &str, around: Around<'_>) -> Result<(ContextName, bool), CliError> {
        let (grounds, store) = (around.grounds, &around.assembled.store);
        let file = grounds.surroundings.cwd.join(which);
        if let Some(name) = context_of(&file, &grounds.setup.contexts(), store) {
            return Ok((name, false));
        }
        if !file.is_file() {
            return Ok((of_session(which, store)?, false));
        }
        let file = file.canonicalize().unwrap_or(file);
        if let Some(name) = self.brought.get(&file) {
            return Ok((name.clone(), false));
        }
        let (name, _claim, _) = bring(&file, None, store, &grounds.surroundings).await?;
        self.brought.insert(file, name.clone());
        Ok((name, true))
    }
}

impl Journey {
    fn fork(entry_id: String, position: Position, place: Claimed, lasting: Lasting) -> Self {
        Self::Fork {
            fork: Fork {
                entry_id,
                position,
                to_context: place.0.to_string(),
            },
            place,
            lasting,
        }
    }

    /// Whether hooks agree.
    async fn consent(&self, judge: &SessionJudge, cancel: &CancellationToken) -> Result<Consent, Refused> {
        match self {
            Self::New { replacement, .. } | Self::Earlier { replacement, .. } => {
                judge.judge_replacement(replacement, cancel).await
            }
            Self::Fork { fork, .. } => judge.judge_fork(fork, cancel).await,
        }
    }
}

/// Tells whoever wished for it how it ended; an error that leaves no session is told further.
fn fulfil(wish: Wish, moved: Result<End, CliError>) -> Result<(), CliError> {
    match moved {
        Ok(moved) => {
            wish.answer(moved);
            Ok(())
        }
        Err(error) => {
            wish.answer(Err(error.to_string()));
            Err(error)
        }
    }
}

impl Around<'_> {
    /// A choice of context lasts as the command line says. Programs that run becket choose for themselves only.
    fn lasting(&self) -> Lasting {
        let options = &self.grounds.options;
        match options.transient.is_some() || options.pi.mode.is_some() || options.pi.no_session {
            true => Lasting::ThisRun,
            false => Lasting::Always,
        }
    }

    fn replacement(&self, name: &ContextName, reason: SwitchReason) -> Replacement {
        Replacement {
            to_context: name.to_string(),
            reason,
            target_session_id: None,
            session_id: fresh_id(),
            lasting: self.lasting(),
        }
    }

    /// Between two sessions: extensions begin anew, and so does the choice of tools.
    async fn renew(&self) {
        let Assembled {
            agent, extensions, ..
        } = self.assembled;
        agent.desk.iter().for_each(|desk| desk.offer_all_tools());
        extensions.renew().await;
        if let Some(names) = self.grounds.options.tool_list()
            && let Err(error) = super::ask::choose_tools(names, self.assembled, &self.grounds.surroundings)
        {
            self.grounds.surroundings.complain(&error.to_string());
        }
    }
}

/// What a new conversation begins with; `trouble` says why it was not set up.
async fn planted(planter: Option<Planter>, site: Site, trouble: &mut Option<String>) -> Option<Seed> {
    let parent_file = site.parent_file.clone();
    let planted = match planter {
        Some(planter) => Some(planter(site).await),
        None => None,
    };
    let planted = match planted {
        Some(Ok(seed)) => Some(seed),
        Some(Err(why)) => {
            *trouble = Some(why);
            None
        }
        None => None,
    };
    if planted.is_none() && parent_file.is_none() {
        return None;
    }
    let (entries, leaf_id) = planted.map_or_else(Default::default, |seed| (seed.entries, seed.leaf_id));
    Some(Seed {
        entries,
        leaf_id,
        origin: Origin::SetUp { parent_file },
    })
}

/// The context whose own file this is.
fn context_of(file: &Path, contexts: &Path, store: &SqliteStore) -> Option<ContextName> {
    let folder = file.parent()?;
    let name = parse_name(folder.file_name()?.to_str()?).ok()?;
    let own = ContextFiles::new(contexts, name.as_str()).path(ContextFile::Session);
    let is_own = own == file
        || own
            .canonicalize()
            .ok()
            .is_some_and(|own| Some(own) == file.canonicalize().ok());
    let is_known = store
        .context(name.as_str())
        .is_ok_and(|context| context.is_some());
    (is_own && is_known).then_some(name)
}
