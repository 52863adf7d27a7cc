// pi's `read`, `write` and `edit`, over functions that an extension can replace (`operations`).
import { constants } from "node:fs";
import { access, mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { generateDiffString, generateUnifiedPatch } from "pi:diff";
import { Type } from "pi:typebox";
import {
  MAX_BYTES, MAX_LINES, abortable, formatSize, plainTool, resolveReadPath, resolveToCwd, textResult, truncateHead,
  unlessRefused, withFileMutationQueue,
} from "pi:tool-shared";

// read

const MAX_IMAGE_BYTES = 4.5 * 1024 * 1024;

/** The kind of picture that bytes are, by how they begin. */
function imageType(bytes: Uint8Array): string | null {
  const text = (from: number, to: number) => String.fromCharCode(...bytes.subarray(from, to));
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return "image/jpeg";
  if (text(0, 8) === "\x89PNG\r\n\x1a\n") return "image/png";
  if (text(0, 4) === "GIF8") return "image/gif";
  return text(0, 4) === "RIFF" && text(8, 12) === "WEBP" ? "image/webp" : null;
}

export const detectSupportedImageMimeTypeFromFile = async (path: string): Promise<string | null> =>
  imageType(await readFile(path));

/** A picture for the model. Pictures are not made smaller here, so one that is too large is left out and told. */
function imageResult(data: Buffer, mimeType: string, model: any): any {
  const blind = model && !model.input?.includes("image");
  const note = blind ? "\n[Current model does not support images. The image will be omitted from this request.]" : "";
  const base64 = data.toString("base64");
  const title = `Read image file [${mimeType}]`;
  if (base64.length > MAX_IMAGE_BYTES) {
    return textResult(`${title}\n[Image omitted: could not be resized below the inline image size limit.]${note}`);
  }
  const picture = { type: "image", data: base64, mimeType };
  return { content: [{ type: "text", text: title + note }, picture], details: undefined };
}

/** The asked lines of a file, with a notice that says how to go on where they are not all. */
function readLines(all: string[], path: string, offset: number | undefined, limit: number | undefined): any {
  const start = offset ? Math.max(0, offset - 1) : 0;
  if (start >= all.length) throw new Error(`Offset ${offset} is beyond end of file (${all.length} lines total)`);
  const end = limit === undefined ? all.length : Math.min(start + limit, all.length);
  const truncation = truncateHead(all.slice(start, end).join("\n"));
  if (truncation.firstLineExceedsLimit) {
    const size = formatSize(Buffer.byteLength(all[start], "utf-8"));
    const what = `Line ${start + 1} is ${size}, exceeds ${formatSize(MAX_BYTES)} limit.`;
    const help = `Use bash: sed -n '${start + 1}p' ${path} | head -c ${MAX_BYTES}`;
    return textResult(`[${what} ${help}]`, { truncation });
  }
  const next = start + truncation.outputLines + 1;
  if (truncation.truncated) {
    const why = truncation.truncatedBy === "lines" ? "" : ` (${formatSize(MAX_BYTES)} limit)`;
    const notice = `[Showing lines ${start + 1}-${next - 1} of ${all.length}${why}. Use offset=${next} to continue.]`;
    return textResult(`${truncation.content}\n\n${notice}`, { truncation });
  }
  const left = all.length - end;
  const notice = left > 0 ? `\n\n[${left} more lines in file. Use offset=${end + 1} to continue.]` : "";
  return textResult(truncation.content + notice);
}

const readParameters = Type.Object({
  path: Type.String({ description: "Path to the file to read (relative or absolute)" }),
  offset: Type.Optional(Type.Number({ description: "Line number to start reading from (1-indexed)" })),
  limit: Type.Optional(Type.Number({ description: "Maximum number of lines to read" })),
});

const localRead = {
  readFile: (path: string) => readFile(path),
  access: (path: string) => access(path, constants.R_OK),
  detectImageMimeType: detectSupportedImageMimeTypeFromFile,
};

export function createReadToolDefinition(cwd: string, options: any = {}): any {
  const operations = options.operations ?? localRead;
  return {
    name: "read",
    label: "read",
    description:
      "Read the contents of a file. Supports text files and images (jpg, png, gif, webp). Images are sent as " +
      `attachments. For text files, output is truncated to ${MAX_LINES} lines or ${MAX_BYTES / 1024}KB (whichever is ` +
      "hit first). Use offset/limit for large files. When you need the full file, continue with offset until complete.",
    promptSnippet: "Read file contents",
    promptGuidelines: ["Use read to examine files instead of cat or sed."],
    parameters: readParameters,
    execute(_id: string, { path, offset, limit }: any, signal?: AbortSignal, _onUpdate?: any, ctx?: any) {
      const file = resolveReadPath(path, cwd);
      return abortable(signal, async (goOn) => {
        await operations.access(file);
        goOn();
        const type = await operations.detectImageMimeType?.(file);
        const data: Buffer = await operations.readFile(file);
        goOn();
        if (type) return imageResult(data, type, ctx?.model);
        return readLines(data.toString("utf-8").split("\n"), path, offset, limit);
      });
    },
  };
}

export const createReadTool = (cwd: string, options?: any) => plainTool(createReadToolDefinition(cwd, options));

// write

const writeParameters = Type.Object({
  path: Type.String({ description: "Path to the file to write (relative or absolute)" }),
  content: Type.String({ description: "Content to write to the file" }),
});

const localWrite = {
  writeFile: (path: string, content: string) => writeFile(path, content, "utf-8"),
  mkdir: (folder: string) => mkdir(folder, { recursive: true }),
};

export function createWriteToolDefinition(cwd: string, options: any = {}): any {
  const operations = options.operations ?? localWrite;
  return {
    name: "write",
    label: "write",
    description:
      "Write content to a file. Creates the file if it doesn't exist, overwrites if it does. Automatically creates " +
      "parent directories.",
    promptSnippet: "Create or overwrite files",
    promptGuidelines: ["Use write only for new files or complete rewrites."],
    parameters: writeParameters,
    execute(_id: string, { path, content }: any, signal?: AbortSignal) {
      const file = resolveToCwd(path, cwd);
      const work = () =>
        abortable(signal, async (goOn) => {
          await operations.mkdir(dirname(file));
          goOn();
          await operations.writeFile(file, content);
          return textResult(`Successfully wrote ${content.length} bytes to ${path}`);
        });
      return withFileMutationQueue(file, work);
    },
  };
}

export const createWriteTool = (cwd: string, options?: any) => plainTool(createWriteToolDefinition(cwd, options));

// edit

interface Edit {
  oldText: string;
  newText: string;
}

const unixLines = (text: string) => text.replace(/\r\n?/g, "\n");

/** A text in the form in which models write it: plain quotes, dashes and spaces, and no space at the end of lines. */
const simple = (text: string) =>
  text
    .normalize("NFKC")
    .split("\n")
    .map((line) => line.trimEnd())
    .join("\n")
    .replace(/[\u2018-\u201B]/g, "'")
    .replace(/[\u201C-\u201F]/g, '"')
    .replace(/[\u2010-\u2015\u2212]/g, "-")
    .replace(/[\u00A0\u2002-\u200A\u202F\u205F\u3000]/g, " ");

/** Where an edit is to be made. Errors name the edit only where there are several. */
function placeOf(content: string, { oldText, newText }: Edit, index: number, path: string, alone: boolean) {
  // A content that was made simple holds simple texts.
  const text = content.includes(oldText) ? oldText : simple(oldText);
  const at = content.indexOf(text);
  if (at === -1) {
    const what = alone ? `the exact text in ${path}. The old text` : `edits[${index}] in ${path}. The oldText`;
    throw new Error(`Could not find ${what} must match exactly including all whitespace and newlines.`);
  }
  const count = simple(content).split(simple(oldText)).length - 1;
  if (count > 1) {
    const what = alone ? `the text in ${path}. The text` : `edits[${index}] in ${path}. Each oldText`;
    const help = "Please provide more context to make it unique.";
    throw new Error(`Found ${count} occurrences of ${what} must be unique. ${help}`);
  }
  return { index, at, length: text.length, newText };
}

/** The content with all edits made, each found in the content as it was. */
function applyEdits(content: string, given: Edit[], path: string): { before: string; after: string } {
  const alone = given.length === 1;
  const edits = given.map(({ oldText, newText }) => ({ oldText: unixLines(oldText), newText: unixLines(newText) }));
  edits.forEach(({ oldText }, index) => {
    if (oldText === "") throw new Error(`${alone ? "" : `edits[${index}].`}oldText must not be empty in ${path}.`);
  });
  // If one edit is only found in the simple form, all are made in it.
  const exact = edits.every(({ oldText }) => content.includes(oldText) || !simple(content).includes(simple(oldText)));
  const before = exact ? content : simple(content);
  const places = edits.map((edit, index) => placeOf(before, edit, index, path, alone)).sort((a, b) => a.at - b.at);
  places.slice(1).forEach((place, i) => {
    const previous = places[i];
    if (previous.at + previous.length <= place.at) return;
    const both = `edits[${previous.index}] and edits[${place.index}]`;
    throw new Error(`${both} overlap in ${path}. Merge them into one edit or target disjoint regions.`);
  });
  const after = places.reduceRight(
    (text, { at, length, newText }) => text.slice(0, at) + newText + text.slice(at + length),
    before,
  );
  if (after !== before) return { before, after };
  const why = "This might indicate an issue with special characters or the text not existing as expected.";
  const what = alone ? `replacement produced identical content. ${why}` : "replacements produced identical content.";
  throw new Error(`No changes made to ${path}. The ${what}`);
}

/** Arguments of older models: one replacement without a list, or the list as a text. */
function prepareArguments(input: any): any {
  if (!input || typeof input !== "object") return input;
  const { oldText, newText, ...rest } = input;
  if (typeof rest.edits === "string") {
    try {
      const edits = JSON.parse(rest.edits);
      if (Array.isArray(edits)) rest.edits = edits;
    } catch {
      // The check of the arguments says what is wrong with it.
    }
  }
  if (typeof oldText !== "string" || typeof newText !== "string") return { ...input, ...rest };
  return { ...rest, edits: [...(Array.isArray(rest.edits) ? rest.edits : []), { oldText, newText }] };
}

const editParameters = Type.Object(
  {
    path: Type.String({ description: "Path to the file to edit (relative or absolute)" }),
    edits: Type.Array(
      Type.Object(
        {
          oldText: Type.String({
            description:
              "Exact text for one targeted replacement. It must be unique in the original file and must not overlap " +
              "with any other edits[].oldText in the same call.",
          }),
          newText: Type.String({ description: "Replacement text for this targeted edit." }),
        },
        { additionalProperties: false },
      ),
      {
        description:
          "One or more targeted replacements. Each edit is matched against the original file, not incrementally. Do " +
          "not include overlapping or nested edits. If two changes touch the same block or nearby lines, merge them " +
          "into one edit instead.",
      },
    ),
  },
  { additionalProperties: false },
);

const localEdit = {
  readFile: (path: string) => readFile(path),
  writeFile: (path: string, content: string) => writeFile(path, content, "utf-8"),
  access: (path: string) => access(path, constants.R_OK | constants.W_OK),
};

async function runEdit(operations: any, file: string, path: string, edits: Edit[], goOn: () => void): Promise<any> {
  try {
    await operations.access(file);
  } catch (error: any) {
    unlessRefused(error);
    throw new Error(`Could not edit file: ${path}. ${error?.code ? `Error code: ${error.code}` : String(error)}.`);
  }
  goOn();
  const raw: string = (await operations.readFile(file)).toString("utf-8");
  goOn();
  const bom = raw.startsWith("\uFEFF") ? "\uFEFF" : "";
  const text = raw.slice(bom.length);
  const windows = text.indexOf("\r\n") !== -1 && text.indexOf("\r\n") < text.indexOf("\n");
  const { before, after } = applyEdits(unixLines(text), edits, path);
  await operations.writeFile(file, bom + (windows ? after.replace(/\n/g, "\r\n") : after));
  const details = { ...generateDiffString(before, after), patch: generateUnifiedPatch(path, before, after) };
  return textResult(`Successfully replaced ${edits.length} block(s) in ${path}.`, details);
}

export function createEditToolDefinition(cwd: string, options: any = {}): any {
  const operations = options.operations ?? localEdit;
  return {
    name: "edit",
    label: "edit",
    description:
      "Edit a single file using exact text replacement. Every edits[].oldText must match a unique, non-overlapping " +
      "region of the original file. If two changes affect the same block or nearby lines, merge them into one edit " +
      "instead of emitting overlapping edits. Do not include large unchanged regions just to connect distant changes.",
    promptSnippet: "Make precise file edits with exact text replacement, including multiple disjoint edits in one call",
    promptGuidelines: [
      "Use edit for precise changes (edits[].oldText must match exactly)",
      "When changing multiple separate locations in one file, use one edit call with multiple entries in edits[] " +
        "instead of multiple edit calls",
      "Each edits[].oldText is matched against the original file, not after earlier edits are applied. Do not emit " +
        "overlapping or nested edits. Merge nearby changes into one edit.",
      "Keep edits[].oldText as small as possible while still being unique in the file. Do not pad with large " +
        "unchanged regions.",
    ],
    parameters: editParameters,
    renderShell: "self",
    prepareArguments,
    execute(_id: string, input: any, signal?: AbortSignal) {
      const { path, edits } = prepareArguments(input);
      if (!Array.isArray(edits) || edits.length === 0) {
        const error = new Error("Edit tool input is invalid. edits must contain at least one replacement.");
        return Promise.reject(error);
      }
      const file = resolveToCwd(path, cwd);
      const work = () => abortable(signal, (goOn) => runEdit(operations, file, path, edits, goOn));
      return withFileMutationQueue(file, work);
    },
  };
}

export const createEditTool = (cwd: string, options?: any) => plainTool(createEditToolDefinition(cwd, options));
