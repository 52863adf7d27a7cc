//! pi's API as extensions find it: the real prelude in the real engine, with a room in place of the program.

mod actions;
mod contexts;
mod loading;
mod providers;
mod room;
mod table;
mod tools;
