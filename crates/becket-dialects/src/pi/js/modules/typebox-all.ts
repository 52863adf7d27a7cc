// All of typebox: what is there, and what is not there yet. Who imports nothing of the second is given the first alone.
export * from "pi:typebox";
export { default } from "pi:typebox";
export * from "pi:typebox-rest";
