//! Guests: tools that come and go while a session runs, such as those of files that are written meanwhile, and code in
//! hooks that makes calls in the session's name.

use std::sync::Arc;

use crate::fuel::Fuel;
use crate::session::Session;
use crate::subagent::Parent;
use crate::tool::Tool;

/// Who brings tools while a session runs.
pub trait Guests: Send + Sync {
    /// The tools for a context as they are now. It is asked before every turn, so it costs little where nothing has
    /// changed.
    fn tools(&self, context_name: &str) -> Brought;

    /// A session is at work: whoever hears of its events may make calls in its name.
    fn seat(&self, caller: Parent);

    /// The session is over.
    fn leave(&self, session_id: &str);

    /// The first request is on its way, or a call is made without one: now is the time for what nobody should wait for
    /// at the start.
    fn catch_up(&self) {}
}

/// Tools that guests have brought.
#[derive(Clone, Default)]
pub struct Brought {
    /// Another number whenever the tools are others; 0 as long as there never were any.
    pub revision: u64,
    /// The tools. One with the name of a tool that is there already is left out.
    pub tools: Vec<Arc<dyn Tool>>,
}

impl Session {
    /// Looks what guests have brought, and says whether that is something else than before. Sub-agents have the tools
    /// that they were given, and members of a team those of their file.
    pub(crate) fn greet_guests(&mut self) -> bool {
        let Some(guests) = &self.given.guests else {
            return false;
        };
        if self.is_subagent() {
            return false;
        }
        let brought = guests.tools(&self.hooks.scope().context_name);
        let is_new = brought.revision != self.brought.revision && self.given.team.is_none();
        if is_new {
            self.brought = brought;
        }
        is_new
    }

    /// Lets guests make calls in the name of this session, as it is now.
    pub(crate) fn seat_guests(&self) {
        if let Some(guests) = &self.given.guests {
            let fuel = Fuel::full(self.agent.settings.fuel);
            guests.seat(Parent::new(self, &self.agent.tools, fuel).in_passing());
        }
    }

    /// The session is over: nobody makes calls in its name any more.
    pub(crate) fn dismiss_guests(&self) {
        if let Some(guests) = &self.given.guests {
            guests.leave(self.id());
        }
    }
}
