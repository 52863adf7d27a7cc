//! Invariants of the table of events: what every row must satisfy, whatever it says.

use std::collections::BTreeSet;

use becket_events::{Class, EVENTS, Event, EventId, EventInfo, Reply, Visitor, payload_schema, reply_schema};

#[test]
fn names_are_unique_and_found_again() {
    let names: BTreeSet<_> = EVENTS.iter().map(|event| event.name).collect();
    assert_eq!(names.len(), EVENTS.len());
    for event in EVENTS {
        assert_eq!(EventId::named(event.name), Some(event.id));
        assert_eq!(event.id.info().name, event.name);
        assert!(
            event.name.chars().all(|c| c.is_ascii_lowercase() || c == '_'),
            "{}",
            event.name
        );
    }
    assert_eq!(EventId::named("no_such_event"), None);
}

#[test]
fn the_mask_of_two_words_has_room_for_all() {
    assert!(EVENTS.len() <= 128);
}

#[test]
fn a_guard_can_refuse_and_nothing_else_needs_to() {
    struct Refusal;
    impl Visitor for Refusal {
        type Output = bool;
        fn visit<E: Event>(self) -> bool {
            E::Reply::refuse("no".into()).verdict().is_some()
        }
    }
    for event in EVENTS {
        assert_eq!(
            event.id.visit(Refusal),
            event.class == Class::Guard,
            "{}",
            event.name
        );
    }
}

#[test]
fn observers_can_only_leave_a_notice_and_end_the_run() {
    for event in EVENTS.iter().filter(|event| event.class == Class::Observe) {
        let fields: Vec<&str> = event.reply.iter().map(|field| field.name).collect();
        assert_eq!(fields, ["notice", "halt"], "{}", event.name);
    }
}

#[test]
fn a_rewritten_field_stands_in_the_payload() {
    for event in EVENTS {
        for answer in event.reply.iter().filter(|answer| answer.rule == "Rewrite") {
            assert!(
                event.payload.iter().any(|field| field.name == answer.name),
                "{} rewrites {}, which is not in its payload",
                event.name,
                answer.name
            );
        }
    }
}

#[test]
fn payload_fields_never_hide_common_ones() {
    let common = EventInfo::common_fields();
    for event in EVENTS {
        for field in event.payload {
            assert!(!common.contains(&field.name), "{} {}", event.name, field.name);
        }
    }
}

#[test]
fn everything_is_described_in_a_sentence() {
    for event in EVENTS {
        assert!(event.doc.trim().ends_with('.'), "{}", event.name);
        for field in event.payload.iter().chain(event.reply) {
            assert!(field.doc.trim().ends_with('.'), "{} {}", event.name, field.name);
        }
    }
}

#[test]
fn schemas_name_the_fields_of_the_table() {
    for event in EVENTS {
        let schema = payload_schema(event.id).to_value();
        let named: BTreeSet<_> = schema["properties"]
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        let declared: BTreeSet<_> = event
            .payload
            .iter()
            .map(|field| field.name)
            .chain(EventInfo::common_fields())
            .collect();
        assert_eq!(named, declared, "{}", event.name);

        let schema = reply_schema(event.id).to_value();
        for field in event.reply {
            assert!(
                schema["properties"][field.name].is_object(),
                "{} {}",
                event.name,
                field.name
            );
        }
    }
}

#[test]
fn a_reply_with_an_unknown_field_is_refused() {
    struct Read(&'static str);
    impl Visitor for Read {
        type Output = Result<(), String>;
        fn visit<E: Event>(self) -> Self::Output {
            serde_json::from_str::<E::Reply>(self.0)
                .map(|_| ())
                .map_err(|error| error.to_string())
        }
    }
    for event in EVENTS {
        assert_eq!(event.id.visit(Read("{}")), Ok(()), "{}", event.name);
        let error = event.id.visit(Read(r#"{"verdct": "allow"}"#)).unwrap_err();
        assert!(error.contains("verdct"), "{}: {error}", event.name);
    }
}
