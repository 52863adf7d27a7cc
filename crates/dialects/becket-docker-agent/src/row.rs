//! One of docker-agent's events with the types of becket's event: its contract, and how its hooks are asked and heard.

use becket_dialect_kit::called::Called;
use becket_events::{Class, Event, Scope};
use becket_hooks::Failure;

use super::contract::{Block, Contract, Permission, Plain};
use super::hook::HookEntry;
use super::input::Input;
use super::read::HookAnswer;

/// An event with the types of becket's event.
pub(super) struct RowOf<E: Event> {
    pub(super) contract: Contract,
    /// The event's position among the rows of the same event of becket.
    pub(super) phase: u8,
    /// Whether only the user can answer an ask, and an allow is only advice.
    pub(super) insists: bool,
    /// When becket's event is this one, if becket's is wider.
    pub(super) condition: fn(&HookEntry, &Scope, &E::Payload) -> bool,
    /// The agent whose hooks are asked.
    pub(super) agent: for<'a> fn(&'a Scope, &'a E::Payload) -> &'a str,
    /// The call that a matcher looks at.
    pub(super) call: Option<CallOf<E>>,
    pub(super) show: Show<E>,
    pub(super) read: Read<E>,
}

/// Finds the tool call of an event.
pub(super) type CallOf<E> = for<'a> fn(&'a <E as Event>::Payload) -> Called<'a>;

/// Adds the event's fields to a hook's input.
pub(super) type Show<E> = fn(Input, &Scope, &<E as Event>::Payload) -> Input;

/// Turns an answer into a reply.
pub(super) type Read<E> = fn(&<E as Event>::Payload, &HookAnswer) -> Result<<E as Event>::Reply, Failure>;

/// The phase of hooks with `preempt_yolo`: before the others of their event.
pub(super) const PREEMPTING: u8 = 2;

/// A row that is the whole of its event, blocks nothing and adds nothing.
pub(super) fn row<E: Event>(name: &'static str, class: Class, show: Show<E>, read: Read<E>) -> RowOf<E> {
    RowOf {
        contract: Contract {
            name,
            event: E::ID,
            class,
            matcher: false,
            block: Block::Nothing,
            permission: Permission::Nothing,
            context: false,
            plain: Plain::Dropped,
            fields: &[],
        },
        phase: 0,
        insists: false,
        condition: |_, _, _| true,
        agent: |scope, _| &scope.agent_name,
        call: None,
        show,
        read,
    }
}

impl<E: Event> RowOf<E> {
    /// The row at a later position among the rows of its event.
    pub(super) fn phase(mut self, phase: u8) -> Self {
        self.phase = phase;
        self
    }

    /// The row of an event at which only the user can answer an ask.
    pub(super) fn insists(mut self) -> Self {
        self.insists = true;
        self
    }

    /// The row of an event that occurs only under a condition.
    pub(super) fn only(mut self, condition: fn(&HookEntry, &Scope, &E::Payload) -> bool) -> Self {
        self.condition = condition;
        self
    }

    /// The row of an event at which the hooks of another agent are asked.
    pub(super) fn of(mut self, agent: for<'a> fn(&'a Scope, &'a E::Payload) -> &'a str) -> Self {
        self.agent = agent;
        self
    }

    /// The row of an event with a tool call, which matchers look at.
    pub(super) fn calls(mut self, call: CallOf<E>) -> Self {
        self.call = Some(call);
        self.contract.matcher = true;
        self
    }

    /// Lets hooks of this event block. If they can refuse, `permission_decision: deny` refuses too: it is never written
    /// by mistake.
    pub(super) fn blocks(mut self, block: Block) -> Self {
        self.contract.block = block;
        if E::CLASS == Class::Guard {
            self.contract.permission = Permission::Refuses;
        }
        self
    }

    /// Lets hooks of this event decide about permission.
    pub(super) fn judges(mut self) -> Self {
        self.contract.permission = Permission::Judges;
        self
    }

    /// Lets hooks of this event add context, also as plain text if it counts as such.
    pub(super) fn context(mut self, plain: Plain) -> Self {
        self.contract.context = true;
        self.plain(plain)
    }

    /// The row of an event at which plain text has this meaning.
    pub(super) fn plain(mut self, plain: Plain) -> Self {
        self.contract.plain = plain;
        self
    }

    /// Lets hooks of this event answer with these fields.
    pub(super) fn fields(mut self, fields: &'static [&'static str]) -> Self {
        self.contract.fields = fields;
        self
    }
}

impl<E: Event> Clone for RowOf<E> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<E: Event> Copy for RowOf<E> {}
