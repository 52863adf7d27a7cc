//! The list of what is to be done, as the plan that an editor shows.

use agent_client_protocol_schema::v1::{Plan, PlanEntry, PlanEntryPriority, PlanEntryStatus};
use becket_front::{TodoStatus, Todos};

/// The list as a plan. Items have no priority, so all have the same.
pub fn of(todos: &Todos) -> Plan {
    let entries = todos.items().map(|(status, text)| {
        let status = match status {
            TodoStatus::Pending => PlanEntryStatus::Pending,
            TodoStatus::InProgress => PlanEntryStatus::InProgress,
            TodoStatus::Completed => PlanEntryStatus::Completed,
        };
        PlanEntry::new(text, PlanEntryPriority::Medium, status)
    });
    Plan::new(entries.collect())
}
