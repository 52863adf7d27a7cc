//! stub
#[derive(Debug, Clone)]
pub struct Limits;
#[derive(Debug, Clone)]
pub struct Program;
