import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { decide, fileFor, hover, plain, STEPS, status, step } from "../src/decide.ts";
import { Problem, parse } from "../src/gutter.ts";
import { type Ended, read, words } from "../src/run.ts";
import { DOCUMENT, NOTE, noted } from "./made.ts";

const written = (over: object = {}) => JSON.stringify({ ...DOCUMENT, ...over });
const withLines = (...lines: object[]) => parse(written(noted([{ path: "/app/app.py", problem: "", lines }])));

test("a document is read, and what is not known of it is left alone", () => {
  const gutter = parse(written({ later: { things: 1 } }));
  assert.equal(gutter.kind, "calls");
  assert.deepEqual(gutter.files[0]?.notes[0], {
    line: 3,
    words: "5.0 ms  50.0 %  7 calls",
    details: [["function", "app:f"]],
    heat: 1,
    state: undefined,
  });
  assert.equal(parse(written({ kind: "of a later version" })).kind, "recording");
});

for (const [name, text, said] of [
  ["no JSON", "Traceback (most recent call last)", /not JSON/],
  ["another document", '{"format":"seismo","version":1}', /not what an editor shows/],
  ["a report without notes", written({ sections: {} }), /another form/],
  ["another version", written({ version: 2 }), /version 2 .* version 1/],
  ["a list", "[]", /another form/],
  ["files that are none", written(noted(3)), /another form/],
  ["a file that is none", written(noted([null])), /another form/],
  [
    "a line without a number",
    written(noted([{ path: "x", problem: "", lines: [{ ...NOTE, line: "3" }] }])),
    /no number/,
  ],
  ["a line 0", written(noted([{ path: "x", problem: "", lines: [{ ...NOTE, line: 0 }] }])), /no number/],
] as const) {
  test(`${name} is refused with words that say so`, () => {
    assert.throws(
      () => parse(text),
      (error) => error instanceof Problem && said.test(error.message) && error.hint !== "",
    );
  });
}

test("heat is a step, and steps never fall", () => {
  assert.equal(step(undefined), 0);
  assert.equal(step(0), 0);
  assert.equal(step(1), STEPS);
  assert.equal(step(1e-9), 0);
  const steps = [1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.3, 0.5, 1].map(step);
  assert.deepEqual(steps, [...steps].sort());
  assert.ok(new Set(steps).size > 4);
});

test("a line has the words of its hottest note, and all of them in the hover", () => {
  const cold = { ...NOTE, words: "1 call", heat: 0.2, details: [["function", "app:<lambda>"]] };
  const { marks } = decide(withLines(cold, NOTE).files[0], 10, 0.001);
  assert.equal(marks.length, 1);
  assert.equal(marks[0]?.line, 2);
  assert.equal(marks[0]?.words, "5.0 ms  50.0 %  7 calls  (and 1 more)");
  assert.match(marks[0]?.hover ?? "", /app:<lambda>[\s\S]*app:f/);
});

test("cold lines have no words but a hover, and lines behind the end are none", () => {
  const gutter = withLines({ ...NOTE, line: 1, heat: 0.0001 }, { ...NOTE, line: 2, heat: 0.01 }, { ...NOTE, line: 99 });
  assert.deepEqual(
    decide(gutter.files[0], 10, 0.001).marks.map(({ line, words: shown, step: found, hover: more }) => [
      line,
      shown,
      found,
      more,
    ]),
    [
      [0, "", 0, "function  app:f"],
      [1, NOTE.words, 2, "function  app:f"],
    ],
  );
  assert.equal(decide(gutter.files[0], 10, 0).marks[0]?.words, NOTE.words);
});

test("coverage has states and needs no heat", () => {
  const lines = ["executed", "missing", "partial", "excluded", "of a later version"].map((state, at) => ({
    line: at + 1,
    words: state === "missing" ? "never ran" : "",
    details: [],
    state,
  }));
  const { marks } = decide(withLines(...lines).files[0], 10, 0.5);
  assert.deepEqual(
    marks.map(({ line, state, words: shown }) => [line, state, shown]),
    [
      [0, "executed", ""],
      [1, "missing", "never ran"],
      [2, "partial", ""],
      [3, "excluded", ""],
      [4, undefined, ""],
    ],
  );
});

test("what may not be what ran is said", () => {
  const changed = parse(
    written(noted([{ path: "/app/app.py", problem: "the file has changed since", lines: [NOTE] }])),
  );
  assert.equal(decide(changed.files[0], 10, 0).problem, "the file has changed since");
  assert.match(decide(parse(written()).files[0], 10, 0, true).problem, /edited since/);
  assert.equal(decide(parse(written()).files[0], 10, 0).problem, "");
  assert.deepEqual(decide(undefined, 10, 0), { marks: [], problem: "" });
});

test("a file is found by where its path leads", () => {
  const gutter = parse(written());
  assert.equal(fileFor(gutter, "/app/app.py")?.path, "/app/app.py");
  assert.equal(fileFor(gutter, "/link/app.py"), undefined);
  assert.equal(fileFor(gutter, "/link/app.py", (path) => path.replace("/link", "/app"))?.path, "/app/app.py");
});

test("hovers and the status bar are plain text", () => {
  const note = {
    line: 1,
    words: "",
    details: [
      ["a", "1"],
      ["longer", "2"],
    ] as [string, string][],
    heat: 1,
    state: undefined,
  };
  assert.equal(hover(note), "a       1\nlonger  2");
  const { text, tooltip } = status(
    parse(written({ facts: [{ label: "lost", text: "the end is missing" }], complete: false })),
    "app.seismo",
  );
  assert.equal(text, "seismo: calls, incomplete");
  assert.match(tooltip, /app\.seismo: calls of python app\.py\nfunctions by own time.*\nlost: the end is missing/);
  assert.equal(plain("$(alert) x"), "$ (alert) x");
});

// ---- starting seismo ----

const COMMAND = {
  command: ["python3", "-m", "seismo"],
  options: ["--time", "wait"],
  recording: "/app/a.seismo",
  folder: "/app",
};
const asked = (ended: Partial<Ended>) =>
  read(COMMAND, new AbortController().signal, async () => ({ code: 1, out: "", err: "", ...ended }));

test("no shell, and no recording that counts as an option", () => {
  assert.deepEqual(words(COMMAND), [
    "python3",
    ["-m", "seismo", "report", "--format", "gutter-json", "--time", "wait", "/app/a.seismo"],
  ]);
  assert.equal(words({ ...COMMAND, recording: "--html" })[1].at(-1), "./--html");
  assert.throws(() => words({ ...COMMAND, command: [] }), /seismo.command is empty/);
});

test("what seismo prints is read", async () => {
  assert.equal((await asked({ code: 0, out: written() })).kind, "calls");
});

for (const [name, ended, what, hint] of [
  ["no interpreter", { code: "ENOENT" }, /no program python3/, /seismo\.command/],
  ["an interpreter that may not run", { code: "EACCES" }, /cannot be started: EACCES/, /seismo\.command/],
  ["no seismo", { err: "/usr/bin/python3: No module named seismo" }, /python3 has no seismo/, /pip install seismo/],
  ["an older seismo", { code: 2, err: "seismo: seismo report has no option --format\n" }, /too old/, /upgrade/],
  [
    "an older form",
    { code: 2, err: "seismo: --format cannot be 'gutter-json'\n        use one of markdown, json\n" },
    /too old/,
    /upgrade/,
  ],
  [
    "a recording of another version",
    { code: 2, err: "seismo: this file has format version 9\n        /app/a.seismo\n        upgrade seismo\n" },
    /^this file has format version 9$/,
    /upgrade seismo/,
  ],
  [
    "no recording",
    { code: 2, err: "seismo: there is no such file\n        /app/a.seismo\n" },
    /no such file/,
    /a\.seismo/,
  ],
  ["a crash", { code: 1, err: "Traceback\nValueError: odd" }, /ended with 1/, /ValueError: odd/],
  ["a signal", { code: null }, /signal, or took too long/, /^$/],
] as [string, Partial<Ended>, RegExp, RegExp][]) {
  test(`${name}: what went wrong, and what to do`, async () => {
    await assert.rejects(asked(ended), (error) => {
      assert.ok(error instanceof Problem);
      assert.match(error.message, what);
      assert.match(error.hint, hint);
      return true;
    });
  });
}

test("a program that is not there is noticed by the real start", async () => {
  await assert.rejects(
    read({ ...COMMAND, command: ["/nonexistent/python"], folder: "/" }, new AbortController().signal),
    /there is no program/,
  );
});

// ---- what seismo really prints: a test of seismo's own holds the samples against the schema ----

const sample = async (kind: string) => parse(await readFile(`test/samples/${kind}.json`, "utf8"));

for (const kind of ["calls", "lines", "coverage", "objects"]) {
  test(`a document of ${kind} as seismo prints it`, async () => {
    const gutter = await sample(kind);
    assert.equal(gutter.kind, kind);
    const file = fileFor(gutter, "/home/someone/app.py");
    assert.equal(file?.problem, "");
    const { marks } = decide(file, 100, 0);
    assert.ok(marks.length > 5);
    assert.ok(marks.every(({ hover: shown }) => shown.length > 0));
    assert.equal(
      marks.some(({ step: found }) => found === STEPS),
      kind !== "coverage",
    );
    assert.equal(
      marks.some(({ state }) => state === "missing"),
      kind === "coverage",
    );
  });
}
