//! How a running session goes on elsewhere: in a new conversation, an earlier one, a fork, at another entry, or with
//! its extensions and resources loaded anew. There is one way for all who want it: the user in a chat, commands of
//! extensions, and programs that steer becket. The last two request it through the session handle.
//!
//! Extensions that bring along what they knew of one conversation would mix it up with another. So each of them is
//! loaded anew between two sessions, as in pi.

#![allow(
    clippy::disallowed_methods,
    reason = "nothing here decides which hooks there are"
)]

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use becket_agent::context_files::{ContextFile, ContextFiles};
use becket_agent::session_handle::{ConversationSetup, Destination, MoveRequest, Moved, NewConversation};
use becket_agent::store::{Origin, Seed, Store, fresh_id};
use becket_agent::{
    Consent, Fork, Forked, GoTo, GoToEnd, Lasting, Position, Refused, Replacement, RunEnd, Session,
    SessionJudge,
};
use becket_events::SwitchReason;
use becket_host::GuestSearch;
use becket_store::{Claim, ContextName, Lifetime, SqliteStore};
use becket_system::{CliError, Surroundings};
use becket_trust::Trust;
use tokio_util::sync::CancellationToken;

use crate::assemble::Assembled;
use crate::import::{Imported, bring, without_moment};
use crate::lifetimes::destroy_unkept;
use crate::options::RunOptions;
use crate::setup::Setup;
use crate::target::{UNKEPT, claim, claim_fresh, of_session, parse_name};

/// After how much idle time an unkept context is destroyed if the program could not do it at its end.
const LEFT_BEHIND_MS: u64 = 24 * 60 * 60 * 1000;

/// How a switch ended, or why nothing has changed.
pub type End = Result<Moved, String>;

/// The parts of a run that stay the same in every conversation.
pub struct RunParts {
    pub options: RunOptions,
    pub surroundings: Surroundings,
    pub setup: Setup,
}

/// What a switch needs besides the session.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    pub parts: &'a RunParts,
    pub assembled: &'a Assembled,
}

/// The session that runs now.
pub struct CurrentSession {
    /// `None` while the next session takes its place, and after that could not begin.
    session: Option<Session>,
    standing: Standing,
    /// Where the session continues next, since hooks have agreed while something ran.
    agreed: Option<Agreed>,
    /// Contexts to destroy at the end.
    unkept: Vec<ContextName>,
}

/// The context of the session, and the contexts that files were imported into.
struct Standing {
    name: ContextName,
    /// Keeps other processes out of the context until the session is closed. A tool call needs no claim: it adds
    /// nothing to the conversation, and a plugin may make one in the middle of a prompt.
    claim: Option<Claim>,
    /// The contexts that files were imported into.
    brought: HashMap<PathBuf, ContextName>,
}

/// A context that no other process can use meanwhile.
type Claimed = (ContextName, Claim);

/// A switch that is ready: the context to continue in is claimed.
enum Journey {
    New {
        replacement: Replacement,
        place: Claimed,
        parent_file: Option<String>,
        setup: Option<ConversationSetup>,
    },
    Earlier {
        replacement: Replacement,
        place: Claimed,
        /// Whether the context was just made for a file.
        was_brought: bool,
    },
    Fork {
        fork: Fork,
        place: Claimed,
        lasting: Lasting,
    },
}

/// A requested switch that hooks have agreed to.
struct Agreed {
    request: MoveRequest,
    journey: Journey,
    consent: Consent,
}

impl CurrentSession {
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

    /// Takes the session out; `None` if a switch has failed and left none.
    pub fn take_session(&mut self) -> Option<Session> {
        self.session.take()
    }

    /// The context that the session is in.
    pub fn context_name(&self) -> &ContextName {
        &self.standing.name
    }

    /// Does what was asked for through the session handle while nothing ran, messages first: they were meant for this
    /// conversation. Returns how the last run ended, if there was one.
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
        around.assembled.interactive.renew_session_file();
        let Some(handle) = &around.assembled.agent.handle else {
            return Ok(end);
        };
        if let Some(Agreed {
            request,
            journey,
            consent,
        }) = self.agreed.take()
        {
            let moved = Box::pin(self.depart(journey, consent, around, &cancel)).await;
            fulfil(request, moved)?;
        }
        while let Some(request) = handle.requests().take_move() {
            let moved = Box::pin(self.go(request.to.clone(), around, &cancel)).await;
            fulfil(request, moved)?;
        }
        Ok(end)
    }

    /// Runs work of the session. Meanwhile hooks are asked about requested switches: if they agree, the work is
    /// cancelled; if not, it goes on.
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
        let Some(handle) = &around.assembled.agent.handle else {
            return working.await;
        };
        loop {
            let request = tokio::select! {
                biased;
                end = &mut working => return end,
                request = handle.requests().interrupted() => request,
            };
            let mut considering = Box::pin(standing.consider(request, &judge, around, cancel));
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
                handle.abort();
                return working.await;
            }
        }
    }

    /// Continues in another conversation or at another entry. The inner error means that nothing has changed; after the
    /// outer error there is no session.
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

    /// Continues in a fork of the conversation, in a context that is claimed for it.
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

    /// Continues in another conversation, if hooks agree.
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

    /// Continues in another conversation, after hooks have agreed.
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
                setup,
            } => {
                let conversation = NewConversation {
                    session_id: replacement.session_id.clone(),
                    files: ContextFiles::new(&around.parts.setup.contexts(), place.0.as_str()),
                    parent_file,
                };
                let mut trouble = None;
                let meanwhile = async || {
                    let seed = seed_of(setup, conversation, &mut trouble).await;
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

    /// Makes another session the current one.
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
        around.assembled.interactive.renew_session_file();
        Ok(())
    }

    /// Marks a new conversation as unkept, if the command line says so.
    async fn mark_if_unkept(&mut self, around: Around<'_>) -> Result<(), CliError> {
        match around.parts.options.keeps_nothing {
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

    /// Reloads extensions and resources from their files.
    async fn reload(&mut self, around: Around<'_>) -> End {
        let RunParts {
            options,
            surroundings,
            setup,
        } = around.parts;
        // What has changed since is judged anew.
        let trust = Trust::open(options.trust, &setup.folders, surroundings, &setup.project_root);
        let place = GuestSearch {
            trust: &trust,
            ..setup.place(surroundings)
        };
        let interactive = &around.assembled.interactive;
        for remark in interactive.reload(&place, setup.team.is_some()).await? {
            surroundings.remark(&remark);
        }
        self.session().reload_library().await;
        Ok(Moved::Went { text: None })
    }

    /// Marks the session's context as unkept. If the program is killed, a later one destroys it.
    pub async fn mark_unkept(&mut self, store: &SqliteStore) -> Result<(), CliError> {
        let lifetime = Lifetime {
            destroy_at_ms: None,
            destroy_after_ms: Some(LEFT_BEHIND_MS),
        };
        store.set_lifetime(&self.standing.name, lifetime).await?;
        self.unkept.push(self.standing.name.clone());
        Ok(())
    }

    /// Destroys the unkept contexts.
    pub async fn destroy_unkept(&self, around: Around<'_>) {
        let RunParts {
            setup, surroundings, ..
        } = around.parts;
        for name in &self.unkept {
            destroy_unkept(&around.assembled.store, setup, name, surroundings).await;
        }
    }
}

impl Standing {
    /// Asks hooks about a requested switch while the session works. If they refuse, the requester is told.
    async fn consider(
        &mut self,
        request: MoveRequest,
        judge: &SessionJudge,
        around: Around<'_>,
        cancel: &CancellationToken,
    ) -> Option<Agreed> {
        let journey = match self.prepare(request.to.clone(), around).await {
            Ok(journey) => journey,
            Err(error) => {
                request.answer(Err(error.to_string()));
                return None;
            }
        };
        match journey.consent(judge, cancel).await {
            Ok(consent) => Some(Agreed {
                request,
                journey,
                consent,
            }),
            Err(Refused(reason)) => {
                let given_up = self.give_up(journey, around).await;
                let refused = given_up.map(|()| Moved::Refused(reason));
                request.answer(refused.map_err(|error| error.to_string()));
                None
            }
        }
    }

    /// Finds and claims the context of another conversation.
    async fn prepare(&mut self, to: Destination, around: Around<'_>) -> Result<Journey, CliError> {
        let store = &around.assembled.store;
        let unkept = around.parts.options.keeps_nothing.then_some(UNKEPT);
        match to {
            Destination::New { parent_file, setup } => {
                let place = claim_fresh(unkept, store)?;
                Ok(Journey::New {
                    replacement: around.replacement(&place.0, SwitchReason::New),
                    place,
                    parent_file,
                    setup,
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
                Err(CliError::failed("that is the current conversation"))
            }
        }
    }

    /// Undoes the preparation of a switch that does not happen.
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

    /// The context that `which` names, and whether it was just made. A file of another program is imported into a
    /// context.
    async fn find(&mut self, which: &str, around: Around<'_>) -> Result<(ContextName, bool), CliError> {
        let (parts, store) = (around.parts, &around.assembled.store);
        let file = parts.surroundings.cwd.join(which);
        if let Some(name) = context_of(&file, &parts.setup.contexts(), store) {
            return Ok((name, false));
        }
        if !file.is_file() {
            return Ok((of_session(which, store)?, false));
        }
        let file = file.canonicalize().unwrap_or(file);
        if let Some(name) = self.brought.get(&file) {
            return Ok((name.clone(), false));
        }
        let from = (parts.options.hosts, &parts.surroundings);
        let Imported { name, .. } = bring(&file, None, store, from).await?;
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

    /// Asks hooks whether they agree.
    async fn consent(&self, judge: &SessionJudge, cancel: &CancellationToken) -> Result<Consent, Refused> {
        match self {
            Self::New { replacement, .. } | Self::Earlier { replacement, .. } => {
                judge.judge_replacement(replacement, cancel).await
            }
            Self::Fork { fork, .. } => judge.judge_fork(fork, cancel).await,
        }
    }
}

/// Tells the requester how the switch ended. Returns an error that leaves no session.
fn fulfil(request: MoveRequest, moved: Result<End, CliError>) -> Result<(), CliError> {
    match moved {
        Ok(moved) => {
            request.answer(moved);
            Ok(())
        }
        Err(error) => {
            request.answer(Err(error.to_string()));
            Err(error)
        }
    }
}

impl Around<'_> {
    /// How long a choice of context lasts: as the command line says. Programs that run becket choose for this run only.
    fn lasting(&self) -> Lasting {
        let options = &self.parts.options;
        match options.transient.is_some() || options.keeps_current || options.keeps_nothing {
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

    /// Between two sessions: reloads extensions and resets the choice of tools.
    async fn renew(&self) {
        let Assembled {
            agent, interactive, ..
        } = self.assembled;
        agent
            .handle
            .iter()
            .for_each(|handle| handle.config().offer_all_tools());
        interactive.renew().await;
    }
}

/// The first entries of a new conversation; `trouble` is set if they could not be made.
async fn seed_of(
    setup: Option<ConversationSetup>,
    conversation: NewConversation,
    trouble: &mut Option<String>,
) -> Option<Seed> {
    let parent_file = conversation.parent_file.clone();
    let made = match setup {
        Some(setup) => Some(setup(conversation).await),
        None => None,
    };
    let made = match made {
        Some(Ok(seed)) => Some(seed),
        Some(Err(why)) => {
            *trouble = Some(why);
            None
        }
        None => None,
    };
    if made.is_none() && parent_file.is_none() {
        return None;
    }
    let (entries, leaf_id) = made.map_or_else(Default::default, |seed| (seed.entries, seed.leaf_id));
    Some(Seed {
        entries,
        leaf_id,
        origin: Origin::SetUp { parent_file },
    })
}

/// The context that keeps this file.
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
