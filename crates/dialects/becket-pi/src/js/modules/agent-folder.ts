// The folder in which pi keeps what is the user's own: settings, extensions, sessions.
import { homedir } from "node:os";
import { join } from "node:path";

export function getAgentDir(): string {
  const given = process.env.PI_CODING_AGENT_DIR;
  if (!given) return join(homedir(), ".pi", "agent");
  return given === "~" || given.startsWith("~/") ? homedir() + given.slice(1) : given;
}
