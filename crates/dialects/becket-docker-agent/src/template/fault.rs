//! What is said about a template that is not understood.

use super::functions::Function;

pub(super) fn not_understood(text: &str) -> String {
    format!(
        "`{}` is not understood in a template; there are `{{{{ .ToolName }}}}`, `{{{{ toJSON .ToolInput }}}}`, \
         `{{{{ if .ToolError }}}}…{{{{ end }}}}`, `range`, `with`, and the functions {}",
        text.trim(),
        Function::names()
    )
}
