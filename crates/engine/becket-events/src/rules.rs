//! How the replies of several handlers combine: each rule is the type of a reply's field.
//!
//! A reader of an event's declaration knows from the type what two handlers do together. Every rule has a neutral
//! element, its `Default`, which is what a handler that said nothing contributes, and `then` is associative, so a
//! fold does not depend on how the handlers were grouped. Both laws are tested for all rules at the end of the file.

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::{self, IntoDeserializer};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::Verdict;

/// A way in which answers combine. `Default` is the neutral element.
pub trait Rule: Default {
    /// The rule's name in the reference.
    const NAME: &'static str;

    /// Whether an earlier answer changes what later handlers see, or whether they are asked at all. Handlers of
    /// an event with such a field run one after another.
    const SEQUENTIAL: bool = false;

    /// This answer followed by a later handler's.
    fn then(self, later: Self) -> Self;

    /// Whether the handler left this field out.
    fn is_neutral(&self) -> bool;

    /// Whether no further handler needs to be asked.
    fn ends_chain(&self) -> bool {
        false
    }
}

macro_rules! optional_rule {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name<T>(pub Option<T>);

        impl<T> $name<T> {
            /// The answer, if any handler gave one.
            pub fn get(self) -> Option<T> {
                self.0
            }
        }

        impl<T> Default for $name<T> {
            fn default() -> Self {
                Self(None)
            }
        }

        impl<T> From<T> for $name<T> {
            fn from(value: T) -> Self {
                Self(Some(value))
            }
        }
    };
}

macro_rules! list_rule {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name<T>(pub Vec<T>);

        impl<'de, T: Deserialize<'de>> Deserialize<'de> for $name<T> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(OneOrMore(PhantomData)).map(Self)
            }
        }

        impl<T> Default for $name<T> {
            fn default() -> Self {
                Self(Vec::new())
            }
        }

        impl<T> From<Vec<T>> for $name<T> {
            fn from(values: Vec<T>) -> Self {
                Self(values)
            }
        }

        impl<T> IntoIterator for $name<T> {
            type Item = T;
            type IntoIter = std::vec::IntoIter<T>;

            fn into_iter(self) -> Self::IntoIter {
                self.0.into_iter()
            }
        }
    };
}

/// Reads a list. A single value is taken for a list of one.
struct OneOrMore<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> de::Visitor<'de> for OneOrMore<T> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list, or one value of it")
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, list: A) -> Result<Vec<T>, A::Error> {
        Vec::deserialize(de::value::SeqAccessDeserializer::new(list))
    }

    fn visit_map<A: de::MapAccess<'de>>(self, object: A) -> Result<Vec<T>, A::Error> {
        T::deserialize(de::value::MapAccessDeserializer::new(object)).map(|value| vec![value])
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
        T::deserialize(text.into_deserializer()).map(|value| vec![value])
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Vec<T>, E> {
        T::deserialize(number.into_deserializer()).map(|value| vec![value])
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Vec<T>, E> {
        T::deserialize(number.into_deserializer()).map(|value| vec![value])
    }
}

/// The strictest verdict wins: deny, insist, ask, allow, none. Equally strict reasons are joined.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Strictest(pub Option<Verdict>);

impl From<Verdict> for Strictest {
    fn from(verdict: Verdict) -> Self {
        Self(Some(verdict))
    }
}

impl Rule for Strictest {
    const NAME: &'static str = "Strictest";

    fn then(self, later: Self) -> Self {
        Self(match (self.0, later.0) {
            (Some(earlier), Some(later)) => Some(earlier.stricter(later)),
            (earlier, later) => earlier.or(later),
        })
    }

    fn is_neutral(&self) -> bool {
        self.0.is_none()
    }

    fn ends_chain(&self) -> bool {
        matches!(self.0, Some(Verdict::Deny(_)))
    }
}

optional_rule! {
    /// A waterfall: the value replaces the payload's field of the same name, and the next handler sees it.
    Rewrite
}

impl<T> Rule for Rewrite<T> {
    const NAME: &'static str = "Rewrite";
    const SEQUENTIAL: bool = true;

    fn then(self, later: Self) -> Self {
        Self(later.0.or(self.0))
    }

    fn is_neutral(&self) -> bool {
        self.0.is_none()
    }
}

optional_rule! {
    /// The first handler that answers wins; the others are still asked.
    First
}

impl<T> Rule for First<T> {
    const NAME: &'static str = "First";

    fn then(self, later: Self) -> Self {
        Self(self.0.or(later.0))
    }

    fn is_neutral(&self) -> bool {
        self.0.is_none()
    }
}

optional_rule! {
    /// The last handler that answers wins.
    Last
}

impl<T> Rule for Last<T> {
    const NAME: &'static str = "Last";

    fn then(self, later: Self) -> Self {
        Self(later.0.or(self.0))
    }

    fn is_neutral(&self) -> bool {
        self.0.is_none()
    }
}

optional_rule! {
    /// The first answer settles the matter: no further handler is asked. Unlike a deny, an answer is not a refusal.
    Answer
}

/// The text that replaces something that is withheld. The first handler that withholds ends the chain.
pub type Withheld = Answer<String>;

impl<T> Rule for Answer<T> {
    const NAME: &'static str = "Answer";
    const SEQUENTIAL: bool = true;

    fn then(self, later: Self) -> Self {
        Self(self.0.or(later.0))
    }

    fn is_neutral(&self) -> bool {
        self.0.is_none()
    }

    fn ends_chain(&self) -> bool {
        self.0.is_some()
    }
}

list_rule! {
    /// All answers, in the order of the handlers.
    Append
}

impl<T> Rule for Append<T> {
    const NAME: &'static str = "Append";

    fn then(mut self, later: Self) -> Self {
        self.0.extend(later.0);
        self
    }

    fn is_neutral(&self) -> bool {
        self.0.is_empty()
    }
}

list_rule! {
    /// All answers, each handler's in front of those before it.
    Prepend
}

impl<T> Rule for Prepend<T> {
    const NAME: &'static str = "Prepend";

    fn then(self, mut later: Self) -> Self {
        later.0.extend(self.0);
        later
    }

    fn is_neutral(&self) -> bool {
        self.0.is_empty()
    }
}

list_rule! {
    /// Everything that any handler named, once.
    Union
}

impl<T: PartialEq> Rule for Union<T> {
    const NAME: &'static str = "Union";

    fn then(self, later: Self) -> Self {
        let mut all = Vec::new();
        for value in self.0.into_iter().chain(later.0) {
            if !all.contains(&value) {
                all.push(value);
            }
        }
        Self(all)
    }

    fn is_neutral(&self) -> bool {
        self.0.is_empty()
    }
}

optional_rule! {
    /// Only what every handler that answered has named. An empty list is an answer: nothing remains.
    Intersect
}

impl<T: PartialEq> Rule for Intersect<Vec<T>> {
    const NAME: &'static str = "Intersect";

    fn then(self, later: Self) -> Self {
        Self(match (self.0, later.0) {
            (Some(mut kept), Some(later)) => {
                kept.retain(|value| later.contains(value));
                Some(kept)
            }
            (earlier, later) => earlier.or(later),
        })
    }

    fn is_neutral(&self) -> bool {
        self.0.is_none()
    }
}

/// One object with the keys of all answers; for the same key the later answer counts.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Merge(pub Map<String, Value>);

impl Rule for Merge {
    const NAME: &'static str = "Merge";

    fn then(mut self, later: Self) -> Self {
        self.0.extend(later.0);
        self
    }

    fn is_neutral(&self) -> bool {
        self.0.is_empty()
    }
}

/// Sets a number, adds to it, or both: the answers are carried out in the order of the handlers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Adjust {
    /// The new value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub set: Option<u32>,
    /// The number that is added after that; may be negative.
    pub add: i64,
}

impl Adjust {
    /// An adjustment that sets a new value.
    pub fn set(value: u32) -> Self {
        Self {
            set: Some(value),
            add: 0,
        }
    }

    /// An adjustment that adds a difference.
    pub fn add(difference: i32) -> Self {
        Self {
            set: None,
            add: difference.into(),
        }
    }

    /// The number after the adjustment; it neither falls below zero nor overflows.
    pub fn apply(self, number: u32) -> u32 {
        let base = i64::from(self.set.unwrap_or(number));
        u32::try_from(base.saturating_add(self.add).max(0)).unwrap_or(u32::MAX)
    }
}

impl Rule for Adjust {
    const NAME: &'static str = "Adjust";

    fn then(self, later: Self) -> Self {
        match later.set {
            Some(_) => later,
            None => Self {
                set: self.set,
                add: self.add.saturating_add(later.add),
            },
        }
    }

    fn is_neutral(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Debug;

    /// The laws that every rule keeps.
    fn laws<R: Rule + Clone + PartialEq + Debug>(a: R, b: R, c: R) {
        assert_eq!(R::default().then(a.clone()), a, "neutral on the left");
        assert_eq!(a.clone().then(R::default()), a, "neutral on the right");
        assert!(R::default().is_neutral());
        assert_eq!(a.is_neutral(), a == R::default());
        assert_eq!(
            a.clone().then(b.clone()).then(c.clone()),
            a.then(b.then(c)),
            "the grouping of handlers does not matter"
        );
    }

    fn verdict() -> impl Strategy<Value = Strictest> {
        proptest::option::of(prop_oneof![
            Just(Verdict::Allow),
            "[a-c]{0,2}".prop_map(Verdict::Ask),
            "[a-c]{0,2}".prop_map(Verdict::Insist),
            "[a-c]{0,2}".prop_map(Verdict::Deny),
        ])
        .prop_map(Strictest)
    }

    fn distinct() -> impl Strategy<Value = Vec<u8>> {
        proptest::collection::btree_set(0u8..6, 0..5).prop_map(|set| set.into_iter().collect())
    }

    fn adjust() -> impl Strategy<Value = Adjust> {
        (proptest::option::of(any::<u32>()), any::<i32>())
            .prop_map(|(set, add)| Adjust { set, add: add.into() })
    }

    fn object() -> impl Strategy<Value = Merge> {
        proptest::collection::btree_map("[a-d]", 0u8..4, 0..4)
            .prop_map(|map| Merge(map.into_iter().map(|(key, value)| (key, value.into())).collect()))
    }

    macro_rules! keeps_the_laws {
        ($($test:ident: $strategy:expr;)*) => {
            proptest! {
                $(#[test]
                fn $test(a in $strategy, b in $strategy, c in $strategy) {
                    laws(a, b, c);
                })*
            }
        };
    }

    keeps_the_laws! {
        strictest: verdict();
        rewrite: proptest::option::of(0u8..4).prop_map(Rewrite);
        first: proptest::option::of(0u8..4).prop_map(First);
        last: proptest::option::of(0u8..4).prop_map(Last);
        answer: proptest::option::of(0u8..4).prop_map(Answer);
        append: proptest::collection::vec(0u8..4, 0..4).prop_map(Append);
        prepend: proptest::collection::vec(0u8..4, 0..4).prop_map(Prepend);
        union: distinct().prop_map(Union);
        intersect: proptest::option::of(distinct()).prop_map(Intersect);
        merge: object();
        adjusting: adjust();
    }

    proptest! {
        #[test]
        fn an_allow_never_beats_a_deny_or_an_ask(a in verdict(), b in verdict()) {
            let both = a.clone().then(b.clone()).0;
            let strictness = |verdict: &Strictest| verdict.0.as_ref().map_or(0, Verdict::strictness);
            prop_assert_eq!(both.map_or(0, |v| v.strictness()), strictness(&a).max(strictness(&b)));
        }

        #[test]
        fn adjusting_in_steps_equals_adjusting_at_once(a in adjust(), b in adjust(), n in 0u32..1000) {
            // Only where no step runs into the ends of the range.
            prop_assume!((0..=i64::from(u32::MAX)).contains(&(i64::from(a.set.unwrap_or(n)) + a.add)));
            prop_assert_eq!(b.apply(a.apply(n)), a.then(b).apply(n));
        }
    }

    #[test]
    fn only_a_deny_or_an_answer_ends_the_chain() {
        assert!(Strictest::from(Verdict::Deny("no".into())).ends_chain());
        assert!(!Strictest::from(Verdict::Insist("hm".into())).ends_chain());
        assert!(Answer::from(1).ends_chain());
        assert!(!First::from(1).ends_chain());
    }

    #[test]
    fn one_value_is_a_list_of_one() {
        let read = |text: &str| serde_json::from_str::<Append<String>>(text).map(|list| list.0);
        assert_eq!(read(r#""a""#).unwrap(), ["a"]);
        assert_eq!(read(r#"["a","b"]"#).unwrap(), ["a", "b"]);
        assert_eq!(read("[]").unwrap(), Vec::<String>::new());
        assert!(read("3").is_err() && read("[3]").is_err() && read("null").is_err());
        assert_eq!(serde_json::from_str::<Prepend<u8>>("3").unwrap().0, [3]);
        let union: Union<Merge> = serde_json::from_str(r#"{"a":1}"#).unwrap();
        assert_eq!(union.0.len(), 1);
    }
}
