// pi's tools in sets, and as the ready-made tools of the working directory that its first generation had.
import { createBashTool } from "pi:tool-bash";
import { createEditTool, createReadTool, createWriteTool } from "pi:tool-files";
import { createFindTool, createGrepTool, createLsTool } from "pi:tool-search";

export const createCodingTools = (cwd: string, options?: any) => [
  createReadTool(cwd, options?.read), createBashTool(cwd, options?.bash), createEditTool(cwd, options?.edit),
  createWriteTool(cwd, options?.write),
];
export const createReadOnlyTools = (cwd: string, options?: any) => [
  createReadTool(cwd, options?.read), createGrepTool(cwd, options?.grep), createFindTool(cwd, options?.find),
  createLsTool(cwd, options?.ls),
];

const here = process.cwd();
export const codingTools = createCodingTools(here);
export const readOnlyTools = createReadOnlyTools(here);
export const [readTool, bashTool, editTool, writeTool] = codingTools;
export const [, grepTool, findTool, lsTool] = readOnlyTools;
