import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { hoverOf, Seismo } from "../src/extension.ts";
import type { Ended } from "../src/run.ts";
import { Document, Editor, stub, window, workspace } from "./editor.ts";
import { DOCUMENT, NOTE, noted } from "./made.ts";

const EVIL = "`` ```\n# [x](command:evil) <b> $(alert)";
let seismo: Seismo;
let started: { program: string; words: string[]; folder: string }[];
let answer: () => Partial<Ended>;

const lines = (...notes: object[]) =>
  JSON.stringify({ ...DOCUMENT, ...noted([{ path: "/app/app.py", problem: "", lines: notes }]) });
const run = async (command: string) => await stub.commands.get(`seismo.${command}`)?.();

function open(path: string, scheme = "file"): Editor {
  const editor = new Editor(new Document(path, Array(20).fill("x = 1"), scheme));
  window.visibleTextEditors = [...window.visibleTextEditors, editor];
  stub.events.editors.fire(undefined);
  return editor;
}

beforeEach(() => {
  stub.reset();
  stub.files = [
    { path: "/app/old.seismo", mtime: 1 },
    { path: "/app/app.seismo", mtime: 2 },
  ];
  started = [];
  answer = () => ({ out: lines(NOTE) });
  seismo = new Seismo(async (program, words, folder) => {
    started.push({ program, words, folder });
    return { code: 0, out: "", err: "", ...answer() };
  });
});

afterEach(() => seismo.dispose());

test("the newest recording is shown beside the source", async () => {
  const editor = open("/app/app.py");
  const other = open("/app/other.py");
  const output = open("/app/app.py", "git");
  await run("show");
  assert.deepEqual(started, [
    {
      program: "python3",
      words: ["-m", "seismo", "report", "--format", "gutter-json", "/app/app.seismo"],
      folder: "/app",
    },
  ]);
  assert.deepEqual(editor.words(), { 3: "5.0 ms  50.0 %  7 calls" });
  assert.deepEqual(editor.coloured(), [3]);
  assert.match(editor.hover(3)?.value ?? "", /function {2}app:f/);
  assert.deepEqual([other.words(), output.words()], [{}, {}]);
  assert.equal(stub.bars[0]?.text, "seismo: calls");
  assert.equal(stub.bars[0]?.shown, true);
  assert.deepEqual(stub.messages, []);
});

test("an editor that is opened later has the numbers, too", async () => {
  await run("show");
  assert.deepEqual(open("/app/app.py").words(), { 3: "5.0 ms  50.0 %  7 calls" });
  assert.equal(started.length, 1);
});

test("settings say how seismo is started, and with what", async () => {
  stub.settings = {
    command: ["${workspaceFolder}/.venv/bin/python", "-m", "seismo"],
    recording: "runs/a.seismo",
    options: ["--time", "wait"],
  };
  await run("show");
  assert.equal(started[0]?.program, "/app/.venv/bin/python");
  assert.deepEqual(started[0]?.words.slice(-3), ["--time", "wait", "/app/runs/a.seismo"]);
  stub.settings.options = [];
  stub.events.settings.fire({ affectsConfiguration: (name) => name === "seismo" });
  await sleep(0);
  assert.equal(started[1]?.words.at(-2), "gutter-json");
});

test("the recording is read again when it has changed, once it is quiet", async () => {
  const editor = open("/app/app.py");
  await run("show");
  assert.equal(stub.watchers[0]?.pattern.pattern, "app.seismo");
  answer = () => ({ out: lines({ ...NOTE, line: 5, words: "9 calls" }) });
  for (let at = 0; at < 5; at++) {
    stub.watchers[0]?.changed.fire();
  }
  assert.equal(started.length, 1);
  await sleep(400);
  assert.equal(started.length, 2);
  assert.deepEqual(editor.words(), { 5: "9 calls" });
  stub.watchers[0]?.deleted.fire();
  assert.deepEqual(editor.words(), {});
  assert.match(String(stub.bars[0]?.tooltip), /the recording is gone/);
  assert.equal(stub.watchers.length, 1);
});

test("the answer of an earlier reading is dropped", async () => {
  const editor = open("/app/app.py");
  const waiting: ((ended: Ended) => void)[] = [];
  seismo.dispose();
  seismo = new Seismo(() => new Promise((resolve) => waiting.push(resolve)));
  const first = run("show");
  await sleep(0);
  const second = run("refresh");
  await sleep(0);
  waiting[1]?.({ code: 0, out: lines({ ...NOTE, words: "second" }), err: "" });
  waiting[0]?.({ code: 0, out: lines({ ...NOTE, words: "first" }), err: "" });
  await Promise.all([first, second]);
  assert.deepEqual(editor.words(), { 3: "second" });
});

test("numbers of an edited file are marked as doubtful", async () => {
  const editor = open("/app/app.py");
  await run("show");
  editor.document.isDirty = true;
  stub.events.changed.fire({ document: editor.document });
  assert.deepEqual(editor.words(), { 3: "(?) 5.0 ms  50.0 %  7 calls" });
  assert.match(editor.hover(3)?.value ?? "", /edited since/);
  editor.document.isDirty = false;
  stub.events.saved.fire(editor.document);
  assert.deepEqual(editor.words(), { 3: "5.0 ms  50.0 %  7 calls" });
});

test("nothing is started in a workspace that is not trusted, until it is", async () => {
  const editor = open("/app/app.py");
  workspace.isTrusted = false;
  await run("show");
  await run("choose");
  stub.watchers.at(-1)?.changed.fire();
  await sleep(400);
  assert.deepEqual(started, []);
  assert.deepEqual(editor.words(), {});
  assert.match(stub.messages[0] ?? "", /not trusted/);
  workspace.isTrusted = true;
  stub.events.trust.fire();
  await sleep(0);
  await sleep(0);
  assert.equal(started.length, 1);
  assert.deepEqual(editor.words(), { 3: "5.0 ms  50.0 %  7 calls" });
});

test("no recording, no seismo, another version: said in words, and old numbers go", async () => {
  const editor = open("/app/app.py");
  await run("show");
  for (const [ended, said] of [
    [{ code: "ENOENT" }, /there is no program python3.*seismo\.command/],
    [{ code: 1, err: "No module named seismo" }, /python3 has no seismo.*pip install/],
    [{ out: JSON.stringify({ ...DOCUMENT, version: 7 }) }, /version 7/],
    [{ code: 2, err: "seismo: the file's format version is 9\n  a.seismo\n" }, /the file's format version is 9/],
  ] as [Partial<Ended>, RegExp][]) {
    answer = () => ended;
    await run("refresh");
    assert.match(stub.messages.at(-1) ?? "", said);
    assert.equal(stub.bars[0]?.text, "seismo: no numbers");
    assert.deepEqual(editor.words(), {});
    assert.deepEqual(editor.coloured(), []);
  }
  stub.files = [];
  await run("show");
  assert.match(stub.messages.at(-1) ?? "", /no recording.*seismo profile SCRIPT/);
  const before = stub.messages.length;
  await seismo.show(true);
  assert.equal(stub.messages.length, before);
});

test("a recording is chosen from the newest to the oldest", async () => {
  stub.files.push({ path: "/app/$(bug) evil.seismo", mtime: 3 });
  stub.pick = 2;
  await run("choose");
  assert.deepEqual(
    stub.picks[0]?.map(({ label }) => label),
    ["$ (bug) evil.seismo", "app.seismo", "old.seismo"],
  );
  assert.equal(started[0]?.words.at(-1), "/app/old.seismo");
});

test("hidden numbers are gone until they are asked for", async () => {
  const editor = open("/app/app.py");
  await run("show");
  await run("hide");
  assert.deepEqual(editor.words(), {});
  assert.equal(stub.bars[0]?.shown, false);
  stub.watchers[0]?.changed.fire();
  await sleep(400);
  assert.equal(started.length, 1);
  await run("refresh");
  assert.deepEqual(editor.words(), { 3: "5.0 ms  50.0 %  7 calls" });
});

test("hostile names are plain text everywhere", async () => {
  const editor = open("/app/app.py");
  const note = { ...NOTE, words: EVIL, details: [["function", EVIL]] };
  answer = () => ({
    out: JSON.stringify({
      ...DOCUMENT,
      kind: EVIL,
      program: EVIL,
      ...noted([{ path: "/app/app.py", problem: EVIL, lines: [note] }]),
    }),
  });
  await run("show");
  const shown = editor.hover(3);
  assert.equal(shown?.isTrusted, false);
  assert.equal(shown?.supportHtml, false);
  assert.equal(shown?.supportThemeIcons, false);
  assert.match(shown?.value ?? "", /^````text\n[\s\S]*\n````$/);
  assert.equal(typeof stub.bars[0]?.tooltip, "string");
  assert.doesNotMatch(stub.bars[0]?.text ?? "", /\$\(/);
  assert.equal(hoverOf("`````").value, "``````text\n`````\n``````");
});

test("nothing is left behind", async () => {
  await run("show");
  seismo.dispose();
  assert.equal(stub.listeners(), 0);
  assert.equal(stub.commands.size, 0);
  assert.ok(stub.types.every(({ disposed }) => disposed));
  assert.ok(stub.watchers.every(({ disposed }) => disposed));
  assert.ok(stub.bars.every(({ disposed }) => disposed));
});
