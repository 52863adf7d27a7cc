//! The identity of a context: a hash of its required members in canonical JSON (RFC 8785).
//!
//! Integers that a double cannot hold have no canonical form, so a context with one has no identity. Integers beyond 64
//! bits never come this far: `serde_json` would read them as doubles, so [`read_exactly`] looks at the text.

use std::fmt::{Display, Write};

use ring::digest::{Context, SHA256};
use serde_json::{Map, Number, Value};

use crate::point::{CORE, Member, Point};

/// The largest integer that every reader of JSON keeps.
pub const LARGEST_INTEGER: u64 = (1 << 53) - 1;

/// How deep values may be nested.
const DEEPEST: usize = 128;

/// Why a value has no canonical form. It never quotes the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotCanonical {
    /// An integer is too large for a double.
    Integer,
    /// Values are nested too deeply.
    Depth,
}

impl NotCanonical {
    /// The reason, in words that do not quote the value.
    pub fn words(self) -> &'static str {
        match self {
            Self::Integer => "an integer beyond 2^53-1; write it as a string",
            Self::Depth => "values are nested deeper than 128 levels",
        }
    }
}

/// Hashes text piece by piece. Contexts can be long, and a text of the whole would cost more than to write it.
struct Hasher {
    pending: String,
    context: Context,
}

/// How many bytes are hashed at once.
const PIECE: usize = 16 * 1024;

impl Write for Hasher {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.pending.push_str(text);
        if self.pending.len() >= PIECE {
            self.hash_pending();
        }
        Ok(())
    }
}

impl Hasher {
    fn new() -> Self {
        Self {
            pending: String::with_capacity(2 * PIECE),
            // Hashing is most of the cost; ring takes half of sha2's time on processors without instructions for it.
            context: Context::new(&SHA256),
        }
    }

    fn hash_pending(&mut self) {
        self.context.update(self.pending.as_bytes());
        self.pending.clear();
    }

    /// The hash as an identity.
    fn identity(mut self) -> String {
        self.hash_pending();
        let mut identity = String::from("sha256:");
        for byte in self.context.finish().as_ref() {
            let _ = write!(identity, "{byte:02x}");
        }
        identity
    }
}

/// The identity of a context at a point.
pub fn identity(point: Point, context: &Map<String, Value>) -> Result<String, NotCanonical> {
    let mut hasher = Hasher::new();
    let text: &mut dyn Write = &mut hasher;
    let mut members: Vec<&Member> = CORE.iter().chain(point.members()).collect();
    members.sort_by_key(|(name, _)| *name);
    let present = members.into_iter().filter_map(|(name, keys)| {
        let value = context.get(*name)?;
        Some((*name, value, *keys))
    });
    put(text, "{");
    for (index, (name, value, keys)) in present.enumerate() {
        let comma = if index > 0 { "," } else { "" };
        put(text, format_args!("{comma}\"{name}\":"));
        match (keys, value) {
            (Some(keys), Value::Object(map)) => {
                write_object(text, map, &|key| keys.contains(&key), 2)?;
            }
            _ => write_value(text, value, 2)?,
        }
    }
    put(text, "}");
    Ok(hasher.identity())
}

/// Writes to memory, which cannot fail.
fn put(text: &mut dyn Write, piece: impl Display) {
    let _ = write!(text, "{piece}");
}

/// A value as canonical JSON.
pub fn canonical(value: &Value) -> Result<String, NotCanonical> {
    let mut text = String::new();
    write_value(&mut text, value, 1)?;
    Ok(text)
}

/// Reads JSON that somebody else wrote. An integer beyond 64 bits is an error, because it would become another number.
pub fn read_exactly(text: &str) -> Result<Option<Value>, NotCanonical> {
    let read = serde_json::from_str(text).ok();
    match read.is_some() && has_huge_integer(text) {
        true => Err(NotCanonical::Integer),
        false => Ok(read),
    }
}

/// Whether valid JSON has an integer beyond 64 bits.
pub fn has_huge_integer(json: &str) -> bool {
    let mut rest = json;
    while let Some(start) =
        rest.find(|letter: char| letter == '"' || letter == '-' || letter.is_ascii_digit())
    {
        rest = &rest[start..];
        let (token, behind) = rest.split_at(match rest.starts_with('"') {
            true => end_of_string(rest),
            false => rest
                .find(|letter: char| !matches!(letter, '0'..='9' | '-' | '+' | '.' | 'e' | 'E'))
                .unwrap_or(rest.len()),
        });
        let is_integer = !token.contains(['"', '.', 'e', 'E']);
        if is_integer && token.parse::<u64>().is_err() && token.parse::<i64>().is_err() {
            return true;
        }
        rest = behind;
    }
    false
}

/// Where the string ends with which the text begins.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (place, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return place + 1,
            _ => {}
        }
    }
    text.len()
}

fn write_value(text: &mut dyn Write, value: &Value, depth: usize) -> Result<(), NotCanonical> {
    if depth > DEEPEST {
        return Err(NotCanonical::Depth);
    }
    match value {
        // `serde_json` escapes exactly what the canonical form escapes, in the same way.
        Value::Null | Value::Bool(_) | Value::String(_) => put(text, value),
        Value::Number(number) => write_number(text, number)?,
        Value::Array(items) => {
            put(text, "[");
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    put(text, ",");
                }
                write_value(text, item, depth + 1)?;
            }
            put(text, "]");
        }
        Value::Object(map) => write_object(text, map, &|_| true, depth)?,
    }
    Ok(())
}

/// Keys stand in the order of their UTF-16 code units, which is not that of their characters.
fn write_object(
    text: &mut dyn Write,
    map: &Map<String, Value>,
    is_kept: &dyn Fn(&str) -> bool,
    depth: usize,
) -> Result<(), NotCanonical> {
    let mut members: Vec<(&String, &Value)> = map.iter().filter(|(key, _)| is_kept(key)).collect();
    members.sort_by(|(one, _), (two, _)| one.encode_utf16().cmp(two.encode_utf16()));
    put(text, "{");
    for (index, (key, value)) in members.into_iter().enumerate() {
        let comma = if index > 0 { "," } else { "" };
        put(text, format_args!("{comma}{}:", Value::from(key.as_str())));
        write_value(text, value, depth + 1)?;
    }
    put(text, "}");
    Ok(())
}

fn write_number(text: &mut dyn Write, number: &Number) -> Result<(), NotCanonical> {
    let is_safe = |size: u64| size <= LARGEST_INTEGER;
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(integer), ..) if is_safe(integer.unsigned_abs()) => put(text, integer),
        (Some(_), ..) | (_, Some(_), _) => return Err(NotCanonical::Integer),
        (None, None, Some(double)) => write_double(text, double),
        (None, None, None) => return Err(NotCanonical::Integer),
    }
    Ok(())
}

/// A double as JavaScript writes it: the shortest digits that read back as the same number, with an exponent only for
/// very large and very small ones.
fn write_double(text: &mut dyn Write, double: f64) {
    if double == 0.0 {
        return put(text, "0");
    }
    let scientific = format!("{:e}", double.abs());
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = digits.replace('.', "");
    let count = digits.len() as i32;
    // The decimal point stands behind this many digits.
    let point = exponent.parse::<i32>().unwrap_or_default() + 1;
    if double < 0.0 {
        put(text, "-");
    }
    let zeros = |count: i32| "0".repeat(count.max(0) as usize);
    match point {
        _ if count <= point && point <= 21 => put(text, digits + &zeros(point - count)),
        1..=21 => {
            let (whole, rest) = digits.split_at(point as usize);
            put(text, format_args!("{whole}.{rest}"));
        }
        -5..=0 => put(text, format_args!("0.{}{digits}", zeros(-point))),
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            put(text, format_args!("{first}{dot}{rest}e{:+}", point - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_written_as_in_javascript() {
        let cases = [
            (json!(1.0), "1"),
            (json!(-0.0), "0"),
            (json!(-1.5), "-1.5"),
            (json!(1e21), "1e+21"),
            (json!(123456789012345680000.0), "123456789012345680000"),
            (json!(1.5e300), "1.5e+300"),
            (json!(1e-7), "1e-7"),
            (json!(0.000001), "0.000001"),
            (json!(0.00123), "0.00123"),
            (json!(3.3333333333333335), "3.3333333333333335"),
            (json!(5e-324), "5e-324"),
            (json!(9007199254740991_u64), "9007199254740991"),
            (json!(-9007199254740991_i64), "-9007199254740991"),
        ];
        for (value, text) in cases {
            assert_eq!(canonical(&value).unwrap(), text);
        }
    }

    #[test]
    fn integers_that_a_double_cannot_hold_have_no_form() {
        for value in [
            json!(9007199254740992_u64),
            json!(-9007199254740993_i64),
            json!(u64::MAX),
        ] {
            assert_eq!(canonical(&json!({"a": [value]})), Err(NotCanonical::Integer));
        }
    }

    #[test]
    fn integers_beyond_64_bits_are_not_read_as_other_numbers() {
        for huge in [
            "18446744073709551616",
            "-9223372036854775809",
            "{\"a\": [0, {\"b\": 1e5, \"c\\\"\": 99999999999999999999}]}",
        ] {
            assert_eq!(read_exactly(huge), Err(NotCanonical::Integer), "{huge}");
        }
        for exact in [
            "18446744073709551615",
            "-9223372036854775808",
            "18446744073709551616.0",
            "1e30",
            "-0",
            "{\"18446744073709551616\": \"\\\" 18446744073709551616\"}",
        ] {
            let value: Value = serde_json::from_str(exact).unwrap();
            assert_eq!(read_exactly(exact), Ok(Some(value)), "{exact}");
        }
        assert_eq!(read_exactly("99999999999999999999 and more"), Ok(None));
    }

    #[test]
    fn deep_values_have_no_form() {
        let mut value = json!(0);
        for _ in 0..DEEPEST {
            value = json!([value]);
        }
        assert_eq!(canonical(&value), Err(NotCanonical::Depth));
    }

    #[test]
    fn keys_stand_in_the_order_of_utf16() {
        let value = json!({"\u{e000}": 1, "\u{10000}": 2, "": 3, "é": 4, "z": 5});
        assert_eq!(
            canonical(&value).unwrap(),
            "{\"\":3,\"z\":5,\"é\":4,\"\u{10000}\":2,\"\u{e000}\":1}"
        );
    }

    #[test]
    fn text_is_escaped_no_more_than_needed() {
        let value = json!("a\"b\\c\n\t\u{8}\u{c}\r\u{1}\u{1f}\u{7f}é\u{2028}/");
        assert_eq!(
            canonical(&value).unwrap(),
            "\"a\\\"b\\\\c\\n\\t\\b\\f\\r\\u0001\\u001f\u{7f}é\u{2028}/\""
        );
    }

    /// The hashes come from the standard's own library. What is not required is left out of them.
    #[test]
    fn identities_are_those_of_the_standard() {
        let messages = json!([
            {"role": "system", "content": "a\nb\u{1}\"\\"},
            {"role": "user", "content": {"parts": [1, {"k": "v"}]}},
        ]);
        let arguments = json!({
            "n": 1.0, "m": -0.0, "big": 1e21, "small": 1e-7, "é": [null, true], "\u{10000}": 1, "\u{e000}": 2,
        });
        let cases = [
            (
                Point::PreToolCall,
                json!({"tool_call": {"id": "c", "name": "pay", "args": arguments, "extra": 1}, "target": arguments}),
                "b21fcc9c45702aa9ac15176193b8e505f67bbea3ccedb181d07788a8015dea85",
            ),
            (
                Point::PostToolCall,
                json!({
                    "tool_call": {"id": "c", "name": "pay", "args": {}},
                    "tool_result": {"value": null, "is_error": false, "duration_ms": 12}, "target": null,
                }),
                "0c28e795350c033ab33061a247ae2da7671d38f955bef986d280e7ef8f53f301",
            ),
            (
                Point::PreModelCall,
                json!({"model": {"id": "p/m", "left": "out"}, "messages": messages, "target": messages}),
                "ee4b65883db59eae77ad979329b54c5eb032ee261e121e5c26fb7661f3fc81f9",
            ),
            (
                Point::PostModelCall,
                json!({
                    "model": {"id": "p/m"},
                    "response": {
                        "content": "hi", "tool_calls": [], "finish_reason": "stop", "usage": {"left": "out"},
                    },
                    "target": {"content": "hi", "tool_calls": [], "finish_reason": "stop"},
                }),
                "7b495b016ce486c38e629b2c2a9859736952feb17313c3ac55dc5c76a5771cc6",
            ),
            (
                Point::AgentStartup,
                json!({
                    "agent_init": {"tools_registered": ["a"], "more": 1},
                    "target": {"tools_registered": ["a"]}, "trace": {"trace_id": "left out"},
                }),
                "d715fce203232fdbe883124a8d7098df72d24808904c98a18d2558ba1f429f10",
            ),
        ];
        for (point, members, hash) in cases {
            let core = json!({
                "spec": "agent-hooks/0.1", "interception_point": point, "timestamp": "2027-03-01T08:00:00.000Z",
                "sequence": 7, "agent": {"id": "main", "framework": "becket", "version": "left out"},
                "session": {"id": "s-1", "turn": 3},
            });
            let parts = [core, members]
                .into_iter()
                .filter_map(|part| part.as_object().cloned());
            let context: Map<String, Value> = parts.flatten().collect();
            assert_eq!(
                identity(point, &context).unwrap(),
                format!("sha256:{hash}"),
                "{point:?}"
            );
        }
    }

    proptest! {
        /// What is written is the same value, and writing it again changes nothing.
        #[test]
        fn canonical_text_is_read_back(text in any::<String>(), integer in -(1_i64 << 53) + 1..1 << 53) {
            let value = json!({"a": {text.clone(): text}, "b": integer});
            let written = canonical(&value).unwrap();
            let read: Value = serde_json::from_str(&written).unwrap();
            prop_assert_eq!(&read, &value);
            prop_assert_eq!(canonical(&read).unwrap(), written);
        }

        /// Large doubles are written like integers, which JSON readers take them for, so only the number is compared.
        #[test]
        fn a_double_keeps_its_value(number in any::<f64>()) {
            prop_assume!(number.is_finite());
            let written = canonical(&json!(number)).unwrap();
            prop_assert_eq!(written.parse::<f64>(), Ok(number));
        }
    }
}
