//! Who and what is at work in a session: the member that speaks, the model and tools that were chosen, and guests.

use std::sync::Arc;

use becket_events::{
    AgentSwitch, AgentSwitchPayload, Message, MessageBody, ModelChange, ModelChangePayload, ModelChoice,
    Part, PreModelChange, PreModelChangePayload, SwitchKind, ThinkingChange, ThinkingChangePayload,
};
use becket_gate::Hooks;
use tokio_util::sync::CancellationToken;

use crate::agent::model_name;
use crate::at_work::AtWork;
use crate::entries::{Conversation, EntryContent, NewEntry};
use crate::front::FrontUpdate;
use crate::fuel::Fuel;
use crate::progress::Run;
use crate::provider::ThinkingLevel;
use crate::session::Session;
use crate::session_handle::Choices;
use crate::speaker::Speaker;
use crate::store::StoreError;
use crate::storing::write_entries;
use crate::tool::Parent;

/// Takes over what was chosen through the handle and the tools that guests have brought. Says whether there was
/// anything.
pub(crate) async fn apply_choices(session: &mut Session) -> bool {
    let news = session
        .inbox
        .handle
        .as_ref()
        .and_then(|handle| handle.config().news());
    let refreshed = !session.is_subagent()
        && session
            .speaker
            .refresh_guests(&session.hooks.scope().context_name);
    if !refreshed && news.is_none() {
        return false;
    }
    let chosen = news.or_else(|| {
        session
            .inbox
            .handle
            .as_ref()
            .map(|handle| handle.config().choices())
    });
    let mut choices = chosen.unwrap_or_default();
    let before = session.hooks.scope().model.clone();
    if !may_change_model(session, &choices, &before).await {
        choices.model = session.speaker.chosen_model.clone();
        if let Some(handle) = &session.inbox.handle {
            handle.config().keep_model(choices.model.clone());
        }
    }
    session.speaker.chosen_model = choices.model.clone();
    let thought = session.speaker.thinking();
    session.speaker.agent = Arc::new(
        session
            .speaker
            .default_agent()
            .choosing(&choices, &session.speaker.brought),
    );
    session.speaker.active_tools = choices.active;
    attach_guests(session);
    let now = model_name(&*session.speaker.agent.provider);
    if now != before {
        session.hooks.set_model(&now);
        let payload = || ModelChangePayload {
            new_model: now,
            previous_model: Some(before),
            choice: choices.model.map_or(ModelChoice::Set, |model| model.choice),
        };
        session.hooks.tell::<ModelChange>(payload).await;
    }
    tell_thinking(session, thought).await;
    note_choices(session);
    true
}

/// Says that the model in use cannot read what the model before it thought. Only the last answer counts: once this
/// model has answered, the user has been told.
pub(crate) fn tell_unread_thoughts(session: &Session) {
    let is_answer = |message: &&Message| matches!(message.body(), MessageBody::Assistant { .. });
    let last = session.transcript.messages.iter().rev().find(is_answer);
    let agent = &session.speaker.agent;
    let is_unread = |part: &Part| match part {
        Part::Thinking {
            signature: Some(signature),
            ..
        } => !agent.provider.reads(signature),
        _ => false,
    };
    if last.is_some_and(|answer| answer.content().iter().any(is_unread)) {
        let words = format!(
            "{} cannot read the thoughts of the model before it, so they are left out",
            model_name(&*agent.provider)
        );
        agent.front.show(FrontUpdate::Notice(&words));
    }
}

/// Asks hooks whether another model that was chosen may be used. A refusal is told to the user.
async fn may_change_model(session: &Session, choices: &Choices, current: &str) -> bool {
    let Some(chosen) = &choices.model else {
        return true;
    };
    let new = model_name(&*chosen.provider);
    if new == current {
        return true;
    }
    let payload = || PreModelChangePayload {
        new_model: new.clone(),
        current_model: current.to_owned(),
        choice: chosen.choice,
    };
    let (reply, handlers) = session.hooks.ask_whom::<PreModelChange>(payload).await;
    let consent = session
        .gate
        .consent(&session.hooks, "this model", reply.verdict, handlers)
        .await;
    match consent {
        Ok(()) => true,
        Err(reason) => {
            let words = format!("the model stays {current}: {reason}");
            session.warn(&words).await;
            false
        }
    }
}

/// Tells hooks that the model is to think more or less than before. A session that has not begun changes nothing.
async fn tell_thinking(session: &Session, before: ThinkingLevel) {
    let now = session.speaker.thinking();
    if now != before && session.progress.announced {
        let payload = || ThinkingChangePayload {
            new_level: now.name().into(),
            previous_level: before.name().into(),
        };
        session.hooks.tell::<ThinkingChange>(payload).await;
    }
}

/// Adds entries that tell from where on another model answers, or thinks more or less.
fn note_choices(session: &mut Session) {
    let Some(handle) = session.inbox.handle.as_ref().filter(|_| !session.beside) else {
        return;
    };
    let usual = session.speaker.default_agent();
    let model = session.hooks.scope().model.clone();
    let noted = session.transcript.noted.model.clone();
    if noted.unwrap_or_else(|| model_name(&*usual.provider)) != model {
        handle
            .conversation()
            .note_change(EntryContent::Model { model: model.clone() });
        session.transcript.noted.model = Some(model);
    }
    let noted = session
        .transcript
        .noted
        .thinking
        .or(usual.settings.options.thinking);
    if let Some(level) = session.speaker.agent.settings.options.thinking
        && noted != Some(level)
    {
        handle
            .conversation()
            .note_change(EntryContent::Thinking { level });
        session.transcript.noted.thinking = Some(level);
    }
}

/// Makes a member the current agent. If the team has no such member (any more), nothing changes.
fn set_member(session: &mut Session, name: &str) {
    let team = session.speaker.given.team.as_deref();
    if let Some(member) = team.and_then(|team| team.member(name)) {
        session.speaker.agent = Arc::new(session.speaker.given.with_member(member));
        session
            .hooks
            .set_agent(&member.name, &model_name(&*member.provider));
        if let Some(handle) = &session.inbox.handle {
            handle.config().set_base(session.speaker.base());
        }
    }
}

/// Loads a conversation from its entries.
pub(crate) fn take_up(session: &mut Session, conversation: Conversation) {
    session.speaker.offer_called(&conversation.noted.called);
    if let Some(speaker) = session.transcript.take_up(conversation) {
        set_member(session, &speaker);
    }
}

/// Makes a member the current agent, also for later sessions of the context.
async fn set_speaker(session: &mut Session, to: &str) -> Result<(), StoreError> {
    let entry = NewEntry::new(EntryContent::Speaker {
        agent_name: to.into(),
    });
    let _ = write_entries(session, vec![entry], Vec::new()).await?;
    set_member(session, to);
    Ok(())
}

/// Tells hooks that another member takes over after this turn.
pub(crate) async fn announce_handoff(hooks: &Hooks, speaker: &Speaker, to: &str) {
    let payload = || AgentSwitchPayload {
        from_agent: speaker.agent.settings.agent_name.clone(),
        to_agent: to.into(),
        kind: SwitchKind::Handoff,
        from_models: speaker.agent.models(),
    };
    hooks.tell::<AgentSwitch>(payload).await;
}

/// Lets the user turn to another member.
pub(crate) async fn turn_to_member(session: &mut Session, to: &str) -> Result<(), StoreError> {
    if to == session.agent_name() {
        return Ok(());
    }
    announce_handoff(&session.hooks, &session.speaker, to).await;
    set_speaker(session, to).await
}

/// Lets another member take over a run.
pub(crate) async fn hand_over(session: &mut Session, run: &mut Run, to: &str) -> Result<(), StoreError> {
    let from = session.speaker.agent.settings.agent_name.clone();
    set_speaker(session, to).await?;
    run.begin_with_another(&from, to, session.speaker.agent.settings.max_iterations);
    Ok(())
}

/// Lets guests make calls in the name of this session, as it is now.
pub(crate) fn attach_guests(session: &Session) {
    if let Some(guests) = &session.speaker.given.guests {
        let fuel = Fuel::full(session.speaker.agent.settings.fuel);
        let parent = AtWork::new(session, &session.speaker.agent.tools, fuel).in_passing();
        guests.attach(Parent::new(Arc::new(parent)));
    }
}

/// Ends the right of guests to make calls in the name of this session, which is over.
pub(crate) fn detach_guests(session: &Session) {
    if let Some(guests) = &session.speaker.given.guests {
        guests.detach(session.id());
    }
}

/// From now on the session is at work, though nothing runs yet: it can be cancelled by the token and through the
/// handle.
pub(crate) fn begin_work(session: &mut Session, cancel: CancellationToken) {
    session.inbox.queues.begin_work();
    let Some(handle) = &session.inbox.handle else {
        session.hooks.set_cancel(cancel);
        attach_guests(session);
        return;
    };
    // A child token, since a run that is ended through the handle must not end the program that gave the token.
    let own = cancel.child_token();
    handle.set_cancel(Some(own.clone()));
    session.hooks.set_cancel(own);
    attach_guests(session);
}
