//! How a running session goes on elsewhere: in a new conversation, an earlier one, a fork, at another entry, or with
//! its extensions and resources loaded anew. There is one way for all who want it: the person in a chat, commands of
//! extensions, and programs that steer becket. The last two wish for it at the desk.
//!
//! Extensions that bring along what they knew of one conversation would mix it up with another. So each of them is
//! loaded anew between two sessions, as in pi.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use becket_agent::context_files::{ContextFile, ContextFiles};
use becket_agent::desk::{Destination, Moved, Planter};
use becket_agent::store::{Origin, Seed, Store};
use becket_agent::{
    Fork, Forked, GoTo, GoToEnd, Lasting, Position, Refused, Replaced, Replacement, RunEnd, Session,
};
use becket_dialects::pi::ProjectFolder;
use becket_events::SwitchReason;
use becket_store::{Claim, ContextName, Lifetime, SqliteStore};
use tokio_util::sync::CancellationToken;

use super::sessions::{bring, without_moment};
use crate::args::Options;
use crate::assemble::{Assembled, Setup};
use crate::extensions;
use crate::failure::CliError;
use crate::lifetimes::destroy_unkept;
use crate::surroundings::Surroundings;
use crate::target::{UNKEPT, claim, claim_fresh, of_session, parse_name};
use crate::trust::Trust;

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
    name: ContextName,
    /// Keeps other processes out of the context until the session is closed. A call of a tool needs none: it adds
    /// nothing to the conversation, and a plugin may make one in the middle of a prompt.
    claim: Option<Claim>,
    /// Contexts that are not to be kept.
    unkept: Vec<ContextName>,
    /// Contexts that files were brought into.
    brought: HashMap<PathBuf, ContextName>,
}

impl Seat {
    pub fn new(session: Session, name: ContextName, claim: Option<Claim>) -> Self {
        Self {
            session: Some(session),
            name,
            claim,
            unkept: Vec::new(),
            brought: HashMap::new(),
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
        &self.name
    }

    /// Does what was asked for at the desk while nothing ran, and says how the last run ended if there was one. What
    /// was said comes first: it was said to this conversation.
    pub async fn attend(
        &mut self,
        around: Around<'_>,
        cancel: CancellationToken,
    ) -> Result<Option<RunEnd>, CliError> {
        // Boxed, because a run is a future of great depth.
        let end = Box::pin(self.session_mut().attend(cancel.clone())).await?;
        around.assembled.extensions.renew_session_file();
        let Some(desk) = &around.assembled.agent.desk else {
            return Ok(end);
        };
        while let Some(wish) = desk.take_move() {
            let moved = Box::pin(self.go(wish.to.clone(), around, &cancel)).await;
            match moved {
                Ok(moved) => wish.answer(moved),
                Err(error) => {
                    wish.answer(Err(error.to_string()));
                    return Err(error);
                }
            }
        }
        Ok(end)
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
            Destination::New { parent_file, planter } => {
                self.begin_new(parent_file, planter, around, cancel).await
            }
            Destination::Earlier(which) => self.take_up(&which, around, cancel).await,
            Destination::Fork { entry_id, position } => {
                let prefix = match around.grounds.options.pi.no_session {
                    true => UNKEPT,
                    false => without_moment(self.name.as_str()),
                };
                let (name, claim) = match claim_fresh(Some(prefix), &around.assembled.store) {
                    Ok(claimed) => claimed,
                    Err(error) => return Ok(Err(error.to_string())),
                };
                let end = self
                    .fork(entry_id, position, (name, claim), around, cancel)
                    .await?;
                if let (Ok(Moved::Went { .. }), Lasting::Always) = (&end, around.lasting()) {
                    around.assembled.store.make_current(self.name.as_str()).await?;
                }
                Ok(end)
            }
            Destination::Entry { entry_id, how } => self.go_to(&entry_id, how, cancel).await,
            Destination::Reloaded => Ok(self.reload(around).await),
        }
    }

    async fn begin_new(
        &mut self,
        parent_file: Option<String>,
        planter: Option<Planter>,
        around: Around<'_>,
        cancel: &CancellationToken,
    ) -> Result<End, CliError> {
        let prefix = around.grounds.options.pi.no_session.then_some(UNKEPT);
        let (name, claim) = match claim_fresh(prefix, &around.assembled.store) {
            Ok(claimed) => claimed,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let mut trouble = None;
        let meanwhile = async || {
            let planted = match &planter {
                Some(planter) => Some(planter().await),
                None => None,
            };
            let planted = match planted {
                Some(Err(why)) => {
                    trouble = Some(why);
                    None
                }
                Some(Ok(seed)) => Some(seed),
                None => None,
            };
            around.renew().await;
            seed(planted, parent_file)
        };
        let replacement = around.replacement(&name, SwitchReason::New);
        let end = self
            .replace(replacement, (name, claim), around, cancel, meanwhile)
            .await?;
        match (end, trouble) {
            (Ok(Moved::Went { .. }), Some(why)) => Ok(Err(why)),
            (end, _) => Ok(end),
        }
    }

    /// Takes up an earlier conversation.
    async fn take_up(
        &mut self,
        which: &str,
        around: Around<'_>,
        cancel: &CancellationToken,
    ) -> Result<End, CliError> {
        let (name, was_brought) = match self.find(which, around).await {
            Ok(found) => found,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let store = &around.assembled.store;
        let claimed = match (&mut self.claim, name == self.name) {
            (own, true) => own.take().map_or_else(|| claim(&name, store), Ok),
            _ => claim(&name, store),
        };
        let claimed = match claimed {
            Ok(claimed) => claimed,
            Err(error) => return Ok(Err(error.to_string())),
        };
        let mut replacement = around.replacement(&name, SwitchReason::Resume);
        let sessions = store.sessions(Some(name.as_str()))?;
        replacement.target_session_id = sessions.first().map(|session| session.id.clone());
        let meanwhile = async || {
            around.renew().await;
            None
        };
        let place = (name.clone(), claimed);
        let end = self
            .replace(replacement, place, around, cancel, meanwhile)
            .await?;
        if was_brought && !matches!(end, Ok(Moved::Went { .. })) {
            self.brought.retain(|_, brought| *brought != name);
            store.delete_context(&name).await?;
        }
        Ok(end)
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

    /// Lets another conversation take the place of this one.
    async fn replace(
        &mut self,
        replacement: Replacement,
        (name, claim): (ContextName, Claim),
        around: Around<'_>,
        cancel: &CancellationToken,
        meanwhile: impl AsyncFnOnce() -> Option<Seed>,
    ) -> Result<End, CliError> {
        let is_new = replacement.reason == SwitchReason::New;
        let session = self.take_session().expect("a session that is lost ends the run");
        match session.leave_for(replacement, cancel.clone(), meanwhile).await? {
            Replaced::By(session) => {
                self.sit_down(*session, (name, claim), is_new, around).await?;
                Ok(Ok(Moved::Went { text: None }))
            }
            Replaced::Refused(session, Refused(reason)) => {
                self.session = Some(*session);
                // It may have been lent for the same context.
                if name == self.name {
                    self.claim = Some(claim);
                }
                Ok(Ok(Moved::Refused(reason)))
            }
        }
    }

    /// Goes on in a fork of the conversation, in a context that is claimed for it.
    pub async fn fork(
        &mut self,
        entry_id: String,
        position: Position,
        (name, claim): (ContextName, Claim),
        around: Around<'_>,
        cancel: &CancellationToken,
    ) -> Result<End, CliError> {
        let fork = Fork {
            entry_id,
            position,
            to_context: name.to_string(),
        };
        let session = self.take_session().expect("a session that is lost ends the run");
        let meanwhile = async || around.renew().await;
        match session.fork(fork, cancel.clone(), meanwhile).await? {
            Forked::Forked { session, text } => {
                self.sit_down(*session, (name, claim), true, around).await?;
                Ok(Ok(Moved::Went { text }))
            }
            Forked::NoEntry(session) => {
                self.session = Some(*session);
                Ok(Err("there is no such entry".into()))
            }
            Forked::Refused(session, Refused(reason)) => {
                self.session = Some(*session);
                Ok(Ok(Moved::Refused(reason)))
            }
        }
    }

    /// Another session is the one that runs.
    async fn sit_down(
        &mut self,
        session: Session,
        (name, claim): (ContextName, Claim),
        is_new: bool,
        around: Around<'_>,
    ) -> Result<(), CliError> {
        self.session = Some(session);
        (self.name, self.claim) = (name, Some(claim));
        if is_new && around.grounds.options.pi.no_session {
            self.mark_unkept(&around.assembled.store).await?;
        }
        around.assembled.extensions.renew_session_file();
        Ok(())
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
        let (config, folders) = (&setup.config.pi, &setup.folders);
        // What has changed since is judged anew.
        let trust = Trust::open(options, folders, surroundings, &setup.project_root);
        let (found, judged) =
            extensions::find(options, config, folders, surroundings, &trust).map_err(told)?;
        if let Some(refusal) = extensions::refusal(&found, &judged, &trust) {
            return Err(refusal.to_string());
        }
        let own = extensions::judge_resources(options, config, folders, surroundings, &trust);
        let project = match options.trust || own.is_some_and(|judged| judged.is_trusted()) {
            true => ProjectFolder::Trusted,
            false => ProjectFolder::Untrusted,
        };
        let (resources, remarks) = match setup.team {
            Some(_) => Default::default(),
            None => {
                extensions::find_resources(options, config, folders, surroundings, project).map_err(told)?
            }
        };
        for remark in found.remarks.iter().chain(&remarks) {
            surroundings.remark(remark);
        }
        around.assembled.shelf.renew(resources);
        around.assembled.extensions.reload(&found.extensions).await;
        self.session().refill_shelf().await;
        Ok(Moved::Went { text: None })
    }

    /// The context that the session is in is not to be kept. Should the program be killed, a later one destroys it.
    pub async fn mark_unkept(&mut self, store: &SqliteStore) -> Result<(), CliError> {
        let lifetime = Lifetime {
            destroy_at_ms: None,
            destroy_after_ms: Some(LEFT_BEHIND_MS),
        };
        store.set_lifetime(&self.name, lifetime).await?;
        self.unkept.push(self.name.clone());
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

/// What a new conversation begins with.
fn seed(planted: Option<Seed>, parent_file: Option<String>) -> Option<Seed> {
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
