// All of typebox: what nearly everybody uses, the rest, and what is not there yet. Who imports nothing of the others is
// given the first alone.
export * from "pi:typebox";
export { default } from "pi:typebox";
export * from "pi:typebox-more";
export * from "pi:typebox-rest";
