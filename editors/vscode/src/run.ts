// Starting seismo, and saying clearly why it could not tell anything.

import { execFile } from "node:child_process";
import { type Gutter, Problem, parse } from "./gutter.ts";

export interface Command {
  /** How seismo is started: a program and its first arguments. */
  command: string[];
  options: string[];
  recording: string;
  folder: string;
}

/** What a child left behind. `code` is a word where it could not be started, null where a signal ended it. */
export interface Ended {
  code: number | string | null;
  out: string;
  err: string;
}

export type Start = (program: string, words: string[], folder: string, signal: AbortSignal) => Promise<Ended>;

const LARGEST = 256 * 1024 * 1024; // bytes of a document
const LONGEST = 120_000; // ms: a large trace takes seconds

/** Starts a program without a shell. */
export const start: Start = (program, words, folder, signal) =>
  new Promise((resolve) => {
    const options = {
      cwd: folder,
      maxBuffer: LARGEST,
      timeout: LONGEST,
      signal,
      env: { ...process.env, NO_COLOR: "1" },
    };
    execFile(program, words, options, (error, out, err) => {
      resolve({ code: error ? (error.code ?? null) : 0, out, err });
    });
  });

/** The arguments of `seismo report`; a recording's name never counts as an option. */
export function words({ command, options, recording }: Command): [string, string[]] {
  const [program, ...first] = command;
  if (!program) {
    throw new Problem("seismo.command is empty", 'set it to ["python3", "-m", "seismo"], for one');
  }
  const file = recording.startsWith("-") ? `./${recording}` : recording;
  return [program, [...first, "report", "--format", "gutter-json", ...options, file]];
}

/** What the recording says of lines. Throws a Problem that says what went wrong and what to do. */
export async function read(command: Command, signal: AbortSignal, begin: Start = start): Promise<Gutter> {
  const [program, arguments_] = words(command);
  const ended = await begin(program, arguments_, command.folder, signal);
  if (ended.code === 0) {
    return parse(ended.out);
  }
  throw failure(program, ended);
}

function failure(program: string, { code, err }: Ended): Problem {
  const said = err.trim();
  if (code === "ENOENT") {
    return new Problem(`there is no program ${program}`, "set seismo.command to the interpreter that has seismo");
  }
  if (typeof code === "string") {
    return new Problem(`${program} cannot be started: ${code}`, "look at seismo.command");
  }
  if (/No module named '?seismo/.test(said)) {
    return new Problem(
      `${program} has no seismo`,
      "install it there (pip install seismo), or set seismo.command to one that has",
    );
  }
  if (/--format cannot be|no option --format|unrecognized arguments: --format/.test(said)) {
    return new Problem(`the seismo of ${program} is too old for this extension`, "pip install --upgrade seismo");
  }
  const lines = said.split("\n").map((line) => line.trim());
  const told = lines.findLastIndex((line) => line.startsWith("seismo: "));
  if (told >= 0) {
    return new Problem(lines[told]?.slice("seismo: ".length) ?? "", lines.slice(told + 1).join(" "));
  }
  const end = code === null ? "was ended by a signal, or took too long" : `ended with ${code}`;
  return new Problem(`seismo ${end}`, lines.at(-1) ?? "");
}
