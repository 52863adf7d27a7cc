//! One event of a system with the types of becket's event: how its hooks are asked and heard.

use std::borrow::Cow;

use becket_dialect_kit::called::Called;
use becket_events::{Class, Event, Scope};
use becket_hooks::Failure;

use crate::answer::HookAnswer;
use crate::input::Input;
use crate::system::{Block, Contract, Plain};

/// An event with the types of becket's event.
pub struct RowOf<E: Event> {
    pub(crate) contract: Contract,
    /// When becket's event is this one, if becket's is wider.
    pub(crate) condition: fn(&Scope, &E::Payload) -> bool,
    /// When becket's event is this one only where more prompts may come.
    pub(crate) only_waiting: Option<fn(&E::Payload) -> bool>,
    /// The text that matchers look at.
    pub(crate) subject: Option<SubjectOf<E>>,
    /// The call that conditions look at.
    pub(crate) call: Option<CallOf<E>>,
    /// Why the hook cannot be shown what the event is about.
    pub(crate) hidden: fn(&E::Payload) -> Option<String>,
    pub(crate) show: fn(Input, &Scope, &E::Payload) -> Input,
    pub(crate) read: fn(&E::Payload, &HookAnswer) -> Result<E::Reply, Failure>,
}

/// Finds the text that matchers look at.
type SubjectOf<E> = for<'a> fn(&'a Scope, &'a <E as Event>::Payload) -> Cow<'a, str>;

/// Finds the tool call of an event.
type CallOf<E> = for<'a> fn(&'a <E as Event>::Payload) -> Called<'a>;

/// A row that observes, at every occasion of becket's event.
pub fn row<E: Event>(
    name: &'static str,
    class: Class,
    show: fn(Input, &Scope, &E::Payload) -> Input,
    read: fn(&E::Payload, &HookAnswer) -> Result<E::Reply, Failure>,
) -> RowOf<E> {
    RowOf {
        contract: Contract {
            name,
            event: E::ID,
            class,
            has_matcher: false,
            values: &[],
            block: Block::Told,
            plain: Plain::Dropped,
            is_always: true,
            context_later: false,
        },
        condition: |_, _| true,
        only_waiting: None,
        subject: None,
        call: None,
        hidden: |_| None,
        show,
        read,
    }
}

impl<E: Event> RowOf<E> {
    /// The row of an event that happens only under a condition.
    pub fn only(mut self, condition: fn(&Scope, &E::Payload) -> bool) -> Self {
        self.condition = condition;
        self.contract.is_always = false;
        self
    }

    /// The row of an event that in these cases happens only where more prompts may come, and not after a single one.
    pub fn only_waiting(mut self, condition: fn(&E::Payload) -> bool) -> Self {
        self.only_waiting = Some(condition);
        self.contract.is_always = false;
        self
    }

    /// The row of an event about something that hooks cannot always be shown: the reason is a failure.
    pub fn unless_hidden(mut self, hidden: fn(&E::Payload) -> Option<String>) -> Self {
        self.hidden = hidden;
        self
    }

    /// The row of an event whose matchers look at this text.
    pub fn matching(mut self, subject: SubjectOf<E>) -> Self {
        self.subject = Some(subject);
        self.contract.has_matcher = true;
        self
    }

    /// The row of an event whose matchers look at a text that is one of these.
    pub fn matching_one(mut self, values: &'static [&'static str], subject: SubjectOf<E>) -> Self {
        self.contract.values = values;
        self.matching(subject)
    }

    /// The row of an event about a tool call, whose matchers look at the tool's name.
    pub fn calling(mut self, call: CallOf<E>) -> Self {
        self.call = Some(call);
        self.contract.has_matcher = true;
        self
    }

    /// The row of an event at which a block has this effect.
    pub fn blocks(mut self, block: Block) -> Self {
        self.contract.block = block;
        self
    }

    /// The row of an event at which the model sees output that is not JSON.
    pub fn plain_context(mut self) -> Self {
        self.contract.plain = Plain::Context;
        self
    }

    /// The row of an event at which the user sees output that is not JSON.
    pub fn plain_shown(mut self) -> Self {
        self.contract.plain = Plain::Shown;
        self
    }

    /// The row of an event at which text for the model reaches it with its next turn.
    pub fn context_later(mut self) -> Self {
        self.contract.context_later = true;
        self
    }

    /// The text that matchers look at.
    pub(crate) fn subject(&self, scope: &Scope, payload: &E::Payload) -> Option<String> {
        match (self.subject, self.call) {
            (Some(subject), _) => Some(subject(scope, payload).into_owned()),
            (None, Some(call)) => Some(call(payload).name().to_owned()),
            (None, None) => None,
        }
    }
}

impl<E: Event> Clone for RowOf<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Event> Copy for RowOf<E> {}
