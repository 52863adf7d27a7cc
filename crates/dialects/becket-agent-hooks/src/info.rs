//! The standard's entry in the list of all dialects.

use becket_dialect_kit::{DialectInfo, RowInfo};
use becket_events::{Class, EventId, Profile};

use crate::dialect::DIALECT;
use crate::point::Point;

/// The facts about AGENT-HOOKS that listings, checks and the reference use. It has no names of its own for tools, and a
/// host must not let anything pass where an interceptor fails.
pub static INFO: DialectInfo = DialectInfo {
    dialect: DIALECT,
    profile,
    deciding: &["decision"],
    tools: &[],
    rows,
    lets_through: |_| None,
    absent_events: &[],
};

fn profile() -> Profile {
    Profile {
        name: DIALECT.name,
        ..Profile::own()
    }
}

fn rows() -> Vec<RowInfo> {
    let row = |name, event: EventId| RowInfo {
        dialect: DIALECT.name,
        name,
        event,
        class: event.info().class.min(Class::Guard),
    };
    let points = Point::all().map(|point| row(point.name(), point.event()));
    let more = [
        row(Point::Input.name(), EventId::Steering),
        row(Point::PostModelCall.name(), EventId::ResponsePart),
    ];
    points.chain(more).collect()
}
