//! JSON that survives the `echo` of every shell.
//!
//! Hooks do `INPUT=$(cat)` and `echo "$INPUT" | jq …`. The `echo` of dash turns `\n` into a line end and stops at `\c`,
//! and jq then reads nothing: a guard that finds nothing finds nothing wrong. Written as `\u000a`, a line end survives.
//! Shells whose `echo` reads `\u000a` as well are started so that it does not (`lane/shell.rs`).

/// Rewrites JSON so that no backslash stands before a letter that an `echo` might interpret, `u` excepted.
pub fn echo_proof(json: String) -> String {
    if !json.contains('\\') {
        return json;
    }
    let mut proof = String::with_capacity(json.len() + json.len() / 8);
    let mut rest = json.as_str();
    while let Some((before, escape)) = rest.split_once('\\') {
        proof.push_str(before);
        let mut letters = escape.chars();
        match letters.next() {
            Some('\\') => proof.push_str("\\u005c"),
            Some('b') => proof.push_str("\\u0008"),
            Some('f') => proof.push_str("\\u000c"),
            Some('n') => proof.push_str("\\u000a"),
            Some('r') => proof.push_str("\\u000d"),
            Some('t') => proof.push_str("\\u0009"),
            Some('/') => proof.push('/'),
            other => proof.extend(std::iter::once('\\').chain(other)),
        }
        rest = letters.as_str();
    }
    proof.push_str(rest);
    proof
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::echo_proof;

    /// Whether every backslash is followed by `u` or by something that no `echo` interprets.
    fn is_proof(json: &str) -> bool {
        let mut pieces = json.split('\\');
        pieces.next();
        pieces.all(|piece| piece.starts_with(['"', 'u']))
    }

    #[test]
    fn the_escapes_of_json_are_written_out() {
        let text = r#"{"a":"\\\"\\n\/\b\f\n\r\tÄ\u0001\\u0041"}"#;
        let proof = r#"{"a":"\u005c\"\u005cn/\u0008\u000c\u000a\u000d\u0009Ä\u0001\u005cu0041"}"#;
        assert_eq!(echo_proof(text.into()), proof);
        assert_eq!(echo_proof("{}".into()), "{}");
    }

    proptest! {
        #[test]
        fn it_means_the_same(text in any::<String>(), tricky in r#"[\\"/bfnrtuc0x \n\t]{0,20}"#) {
            let value = Value::from(vec![text, tricky]);
            let proof = echo_proof(value.to_string());
            prop_assert!(is_proof(&proof), "{}", proof);
            prop_assert_eq!(serde_json::from_str::<Value>(&proof).unwrap(), value);
        }
    }
}
