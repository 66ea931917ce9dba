// What `seismo report --format gutter-json` prints, read with its types checked: docs/report-schema.json is the schema,
// and the section `notes` has what an editor shows.
//
// Nothing here knows an editor. A document comes from a program that may be of any version, about a program that may
// have any names, so nothing of it is taken on trust; names stay plain text wherever they are shown.

export const VERSION = 1;
const KINDS = ["calls", "trace", "watch", "lines", "coverage", "objects"];
const STATES = ["executed", "missing", "partial", "excluded"] as const;

export type State = (typeof STATES)[number];

/** What there is to say about a line. `heat` is from 0 to 1, undefined where there is nothing to compare. */
export interface Note {
  line: number;
  words: string;
  details: [string, string][];
  heat: number | undefined;
  state: State | undefined;
}

export interface NotedFile {
  path: string;
  problem: string;
  notes: Note[];
}

export interface Gutter {
  kind: string;
  file: string;
  program: string;
  words: string;
  lost: string[];
  files: NotedFile[];
}

/** Something that a user can do something about. `hint` says what. */
export class Problem extends Error {
  readonly hint: string;
  constructor(what: string, hint = "") {
    super(what);
    this.hint = hint;
  }
}

const UPDATE = "install a seismo and an extension that fit each other";

/** The document in the text. Throws a Problem if it is none, or one of another version. */
export function parse(text: string): Gutter {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Problem("what seismo printed is not JSON", "look at seismo.command: does it start seismo?");
  }
  const document = object(value);
  if (document.format !== "seismo-report") {
    throw new Problem("what seismo printed is not what an editor shows", UPDATE);
  }
  if (document.version !== VERSION) {
    const found = `version ${String(document.version)}`;
    throw new Problem(`seismo speaks ${found} of the form for editors, this extension version ${VERSION}`, UPDATE);
  }
  const notes = object(object(document.sections).notes);
  const facts = list(document.facts).map(object);
  const kind = text_(document.kind);
  return {
    kind: KINDS.includes(kind) ? kind : "recording",
    file: text_(document.file),
    program: text_(document.program),
    words: text_(notes.remark),
    lost: facts.filter((fact) => fact.label === "lost").map((fact) => text_(fact.text)),
    files: list(notes.rows).map(file),
  };
}

function file(value: unknown): NotedFile {
  const found = object(value);
  return { path: text_(found.path), problem: text_(found.problem), notes: list(found.lines).map(note) };
}

function note(value: unknown): Note {
  const found = object(value);
  const line = found.line;
  if (typeof line !== "number" || !Number.isInteger(line) || line < 1) {
    throw new Problem("a line in what seismo printed has no number", UPDATE);
  }
  const details = list(found.details).map((pair): [string, string] => {
    const [label, words] = list(pair);
    return [text_(label), text_(words)];
  });
  const heat = typeof found.heat === "number" ? Math.min(1, Math.max(0, found.heat)) : undefined;
  const state = STATES.find((one) => one === found.state);
  return { line, words: text_(found.words), details, heat, state };
}

function object(value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Problem("what seismo printed has another form than this extension knows", UPDATE);
  }
  return value as Record<string, unknown>;
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) {
    throw new Problem("what seismo printed has another form than this extension knows", UPDATE);
  }
  return value;
}

function text_(value: unknown): string {
  return typeof value === "string" ? value : "";
}
