//! The smallest worker: it answers every event with an empty reply. See `docs/guide/workers.md`.

use std::io::{BufRead, Write};

use serde_json::Value;

fn main() -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let request: Value = serde_json::from_str(&line?)?;
        writeln!(stdout, "{{\"id\":{},\"reply\":{{}}}}", request["id"])?;
        stdout.flush()?;
    }
    Ok(())
}
