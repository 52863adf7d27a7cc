//! The `becket` program. Everything is in the library beside it, so that documentation can be made from it.

fn main() -> std::process::ExitCode {
    becket::main()
}
