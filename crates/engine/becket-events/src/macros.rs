//! The macro behind the table: one block per event, everything else derived from it.

/// Declares events. See `table.rs` for the rows and `event.rs` for the traits that they fill in.
macro_rules! events {
    ($(
        $(#[doc = $doc:literal])+
        $name:literal => $Event:ident, class: $class:ident, $(settle: $settle:path,)?
        payload $Payload:ident { $( $(#[doc = $payload_doc:literal])+ $field:ident : $type:ty, )* }
        reply $Reply:ident { $( $(#[doc = $reply_doc:literal])+ $answer:ident : $rule:ident $(< $of:ty >)?, )* }
    )*) => {
        /// An event by its place in the table.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum EventId {
            $( $(#[doc = $doc])+ $Event, )*
        }

        /// Every event, in the order of the table.
        pub const EVENTS: &[EventInfo] = &[$(
            EventInfo {
                id: EventId::$Event,
                name: $name,
                doc: concat!($($doc, "\n"),+),
                class: Class::$class,
                payload: &[$( FieldInfo {
                    name: stringify!($field),
                    doc: concat!($($payload_doc),+),
                    type_name: stringify!($type),
                    rule: "",
                }, )*],
                reply: &[
                    $( FieldInfo {
                        name: stringify!($answer),
                        doc: concat!($($reply_doc),+),
                        type_name: stringify!($rule $(< $of >)?),
                        rule: <$rule $(< $of >)? as Rule>::NAME,
                    }, )*
                    NOTICE,
                    HALT,
                ],
            },
        )*];

        impl EventId {
            /// Calls the visitor with the event's type.
            pub fn visit<V: Visitor>(self, visitor: V) -> V::Output {
                match self {
                    $( Self::$Event => visitor.visit::<$Event>(), )*
                }
            }
        }

        $(
            $(#[doc = $doc])+
            #[derive(Debug, Clone, Copy)]
            pub struct $Event;

            impl Event for $Event {
                const ID: EventId = EventId::$Event;
                const NAME: &'static str = $name;
                const CLASS: Class = Class::$class;
                type Payload = $Payload;
                type Reply = $Reply;
            }

            #[doc = concat!("What handlers of `", $name, "` receive.")]
            #[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
            pub struct $Payload { $( $(#[doc = $payload_doc])+ pub $field: $type, )* }

            impl Payload for $Payload {
                fn field(&self, name: &str) -> Option<Value> {
                    match name {
                        $( stringify!($field) => serde_json::to_value(&self.$field).ok(), )*
                        _ => None,
                    }
                }

                fn settle(&mut self) {
                    $( $settle(self); )?
                }
            }

            #[doc = concat!("What handlers of `", $name, "` answer.")]
            #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
            #[serde(default, deny_unknown_fields)]
            pub struct $Reply {
                $(
                    $(#[doc = $reply_doc])+
                    #[serde(skip_serializing_if = "Rule::is_neutral")]
                    pub $answer: $rule $(< $of >)?,
                )*
                /// Lines to show to the user.
                #[serde(skip_serializing_if = "Rule::is_neutral")]
                pub notice: Append<String>,
                /// Ends the run at its next step, for this reason.
                #[serde(skip_serializing_if = "Rule::is_neutral")]
                pub halt: First<String>,
            }

            impl Reply for $Reply {
                type Payload = $Payload;

                const SEQUENTIAL: bool = false $( || <$rule $(< $of >)? as Rule>::SEQUENTIAL )*;
                const REWRITES: bool = false $( || on_rewrite!($rule, true, false) )*;

                fn then(self, later: Self) -> Self {
                    Self {
                        $( $answer: self.$answer.then(later.$answer), )*
                        notice: self.notice.then(later.notice),
                        halt: self.halt.then(later.halt),
                    }
                }

                fn ends_chain(&self) -> bool {
                    false $( || self.$answer.ends_chain() )*
                }

                #[allow(unused_variables, unused_mut)]
                fn apply(&self, payload: &mut $Payload) -> bool {
                    let mut changed = false;
                    $( on_rewrite!($rule, {
                        if let Some(value) = &self.$answer.0 {
                            let previous = std::mem::replace(&mut payload.$answer, value.clone());
                            payload.settle();
                            changed |= payload.$answer != previous;
                        }
                    }, ()); )*
                    changed
                }

                fn drop_rewrites(&mut self) {
                    $( on_rewrite!($rule, self.$answer = Default::default(), ()); )*
                }

                #[allow(unused_mut)]
                fn verdict_alone(self) -> Self {
                    let mut alone = Self::default();
                    $( on_verdict!($rule, alone.$answer = self.$answer, ()); )*
                    alone
                }

                fn additions(self) -> Self {
                    #[allow(unused_mut)]
                    let mut additions = Self { notice: self.notice, ..Self::default() };
                    $( on_append!($rule, additions.$answer = self.$answer, ()); )*
                    additions
                }

                #[allow(unused_mut, unused_assignments)]
                fn verdict(&self) -> Option<&Verdict> {
                    let mut verdict = None;
                    $( on_verdict!($rule, verdict = self.$answer.0.as_ref(), ()); )*
                    verdict
                }

                #[allow(unused_variables, unused_mut)]
                fn refuse(reason: String) -> Self {
                    let mut reply = Self::default();
                    $( on_refusal!($rule, reply.$answer, reason); )*
                    reply
                }

                fn telling(lines: Vec<String>) -> Self {
                    Self { notice: Append(lines), ..Self::default() }
                }

                fn halting(reason: String) -> Self {
                    Self { halt: First(Some(reason)), ..Self::default() }
                }

                fn notices(&self) -> &[String] {
                    &self.notice.0
                }

                fn halt(&self) -> Option<&str> {
                    self.halt.0.as_deref()
                }
            }
        )*
    };
}

/// The second argument for a rewriting field, the third for any other.
macro_rules! on_rewrite {
    (Rewrite, $then:expr, $otherwise:expr) => {
        $then
    };
    ($rule:ident, $then:expr, $otherwise:expr) => {
        $otherwise
    };
}

/// The second argument for a field to which handlers add, the third for any other.
macro_rules! on_append {
    (Append, $then:expr, $otherwise:expr) => {
        $then
    };
    ($rule:ident, $then:expr, $otherwise:expr) => {
        $otherwise
    };
}

/// Makes a field refuse or withhold, by its rule.
macro_rules! on_refusal {
    (Strictest, $field:expr, $reason:ident) => {
        $field = Verdict::Deny($reason.clone()).into()
    };
    (Withheld, $field:expr, $reason:ident) => {
        $field = Withheld::from($reason.clone())
    };
    (Intersect, $field:expr, $reason:ident) => {
        $field = Intersect(Some(Default::default()))
    };
    ($rule:ident, $field:expr, $reason:ident) => {};
}

/// The second argument for a verdict, the third for any other field.
macro_rules! on_verdict {
    (Strictest, $then:expr, $otherwise:expr) => {
        $then
    };
    ($rule:ident, $then:expr, $otherwise:expr) => {
        $otherwise
    };
}
