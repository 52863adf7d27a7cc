//! The keys of inputs by their names in templates.

use becket_hooks::nearest;

use super::fault::not_understood;
use crate::output::snake_case;
use crate::show::KEYS;

/// The path of `.ToolInput.cmd` in the input. At the top level of a template its first member must be a key of inputs;
/// inside of another piece the dot may be anything.
pub(super) fn path(text: &str, is_input: bool) -> Result<Vec<String>, String> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mut members: Vec<String> = text.split('.').map(ToOwned::to_owned).collect();
    if members.iter().any(String::is_empty) {
        return Err(not_understood(&format!(".{text}")));
    }
    let field = members[0].clone();
    let key = snake_case(&field);
    let is_key = KEYS.contains(&key.as_str()) && field.starts_with(char::is_uppercase);
    if is_input && !is_key {
        let near = nearest(&key, KEYS.iter().copied()).map(go_name);
        let hint = near.map_or_else(String::new, |near| format!("; did you mean `.{near}`?"));
        return Err(format!("a template knows no `.{field}`{hint}"));
    }
    if is_input || field.starts_with(char::is_uppercase) {
        members[0] = key;
    }
    Ok(members)
}

/// The name of an input's key in templates.
pub(super) fn go_name(key: &str) -> String {
    let words = key.split('_').map(|word| match word {
        "id" => "ID".to_owned(),
        word => word[..1].to_uppercase() + &word[1..],
    });
    words.collect()
}
