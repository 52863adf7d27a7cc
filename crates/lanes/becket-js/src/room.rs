//! Stack for the parser. It is recursive, and so is everything that walks its result: source that is nested deep enough
//! would overflow the stack and end the process.

use std::thread;

/// How deep brackets may be nested; nothing that a human or a bundler wrote comes close.
const DEEPEST: usize = 1000;

/// The stack that every source gets, and what each byte of it adds, as it may be a level of its own.
const STACK: usize = 64 << 20;
const STACK_FOR_BYTE: usize = 4 << 10;
const LARGEST_STACK: usize = 1 << 30;

/// Does something with a source on a stack that is large enough for it. `None` if there can be no such stack.
pub(crate) fn with_room<T: Send>(source: &str, work: impl FnOnce() -> T + Send) -> Option<T> {
    if brackets(source) > DEEPEST {
        return None;
    }
    let stack = source.len().saturating_mul(STACK_FOR_BYTE).saturating_add(STACK);
    thread::scope(|scope| {
        let builder = thread::Builder::new().stack_size(stack.min(LARGEST_STACK));
        let worker = builder.spawn_scoped(scope, work).ok()?;
        worker.join().ok()
    })
}

/// How deep brackets are nested, wherever they stand.
fn brackets(source: &str) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    for byte in source.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use crate::facts::Facts;
    use crate::outline;

    #[test]
    fn source_that_is_nested_deep_ends_nothing() {
        for source in [
            "(".repeat(200_000),
            "[".repeat(200_000),
            format!("x = {}1", "- ".repeat(30_000)),
            format!("x = {}1", "a + ".repeat(15_000)),
            "if (a) ".repeat(8_000),
            "a => ".repeat(12_000),
        ] {
            let _ = outline(Path::new("deep.ts"), &source, "Api");
            let _ = Facts::of(&source);
        }
    }
}
