//! Files of which only parts are generated: what is between `<!-- generated: NAME -->` and `<!-- end -->`.

use crate::problem::Problem;

/// Puts a fresh text between the marks of a part.
pub fn replace(page: &str, part: &str, fresh: &str) -> Result<String, Problem> {
    let begin = format!("<!-- generated: {part} -->\n");
    let end = "\n<!-- end -->";
    let missing = || format!("there is no `{}` … `{}`", begin.trim(), end.trim());
    let (before, rest) = page.split_once(&begin).ok_or_else(missing)?;
    let (_, after) = rest.split_once(end).ok_or_else(missing)?;
    Ok(format!("{before}{begin}{fresh}{end}{after}"))
}
