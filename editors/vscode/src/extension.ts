// The editor's side: settings, files, decorations, the status bar. What is shown is decided in decide.ts.

import { realpathSync } from "node:fs";
import * as path from "node:path";
import * as vscode from "vscode";
import { decide, fileFor, type Mark, plain, STEPS, status } from "./decide.ts";
import { type Gutter, Problem } from "./gutter.ts";
import { read, type Start, start } from "./run.ts";

const SETTLED = 300; // ms after the last change of a recording: a program that still writes changes it every second

/** What is there while the extension is active. begin: how programs are started. */
export class Seismo implements vscode.Disposable {
  private gutter: Gutter | undefined;
  private recording = "";
  private hidden = false;
  private reading: AbortController | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private watcher: vscode.FileSystemWatcher | undefined;
  private readonly real = new Map<string, string>();
  private readonly bar: vscode.StatusBarItem;
  private readonly heat: vscode.TextEditorDecorationType[];
  private readonly states: Record<string, vscode.TextEditorDecorationType>;
  private readonly words: vscode.TextEditorDecorationType;
  private readonly all: vscode.Disposable[] = [];

  constructor(private readonly begin: Start = start) {
    this.bar = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Left);
    this.bar.name = "seismo";
    this.bar.command = "seismo.choose";
    this.words = vscode.window.createTextEditorDecorationType({ after: { margin: "0 0 0 3em" } });
    this.heat = Array.from({ length: STEPS }, (_, at) => this.background(at + 1));
    this.states = {
      missing: this.edge("editorGutter.deletedBackground"),
      partial: this.edge("editorGutter.modifiedBackground"),
      executed: this.edge("editorGutter.addedBackground"),
    };
    const { commands, window, workspace } = vscode;
    this.all.push(
      this.bar,
      this.words,
      ...this.heat,
      ...Object.values(this.states),
      commands.registerCommand("seismo.show", () => this.show()),
      commands.registerCommand("seismo.choose", () => this.choose()),
      commands.registerCommand("seismo.refresh", () => this.refresh()),
      commands.registerCommand("seismo.hide", () => this.hide()),
      window.onDidChangeVisibleTextEditors(() => this.draw()),
      workspace.onDidChangeTextDocument((event) => this.draw(event.document)),
      workspace.onDidSaveTextDocument((document) => this.draw(document)),
      workspace.onDidChangeConfiguration((event) => {
        if (event.affectsConfiguration("seismo") && this.recording) {
          void this.show();
        }
      }),
      workspace.onDidGrantWorkspaceTrust(() => this.show(true)),
    );
  }

  /** A step of heat: from nearly nothing to all of the colour. */
  private background(step: number): vscode.TextEditorDecorationType {
    return vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      backgroundColor: new vscode.ThemeColor("seismo.heat"),
      opacity: "1",
      overviewRulerLane: vscode.OverviewRulerLane.Left,
      ...(step >= STEPS - 1 ? { overviewRulerColor: new vscode.ThemeColor("seismo.heat") } : {}),
      ...(step < STEPS ? { light: { backgroundColor: shade(step) }, dark: { backgroundColor: shade(step) } } : {}),
    });
  }

  private edge(color: string): vscode.TextEditorDecorationType {
    return vscode.window.createTextEditorDecorationType({
      isWholeLine: true,
      borderStyle: "solid",
      borderWidth: "0 0 0 3px",
      borderColor: new vscode.ThemeColor(color),
      overviewRulerColor: new vscode.ThemeColor(color),
      overviewRulerLane: vscode.OverviewRulerLane.Left,
    });
  }

  /** Shows the recording of the settings, or the newest of the folder. quietly: says nothing if there is none. */
  async show(quietly = false): Promise<void> {
    const folder = this.folder();
    const set = this.setting<string>("recording", "");
    const found = set && folder ? path.resolve(folder, set) : await this.newest();
    if (!found) {
      if (!quietly) {
        this.fail(new Problem("this folder has no recording", "make one: seismo profile SCRIPT"));
      }
      return;
    }
    await this.open(found, quietly);
  }

  /** Lets the user pick a recording. */
  async choose(): Promise<void> {
    const files = await this.recordings();
    const items = files.map((file) => ({
      label: plain(path.basename(file)),
      description: plain(path.dirname(file)),
      file,
    }));
    const chosen = await vscode.window.showQuickPick(items, { placeHolder: "Which recording?" });
    if (chosen) {
      await this.open(chosen.file);
    }
  }

  async refresh(): Promise<void> {
    await (this.recording ? this.open(this.recording) : this.show());
  }

  hide(): void {
    this.hidden = true;
    this.draw();
    this.bar.hide();
  }

  private async open(file: string, quietly = false): Promise<void> {
    if (this.recording !== file || !this.watcher) {
      this.recording = file;
      this.watch(file);
    }
    this.hidden = false;
    if (!vscode.workspace.isTrusted) {
      this.gutter = undefined;
      this.draw();
      this.fail(
        new Problem("this workspace is not trusted, so seismo starts nothing", "trust it to see numbers"),
        quietly,
      );
      return;
    }
    this.reading?.abort();
    const reading = new AbortController();
    this.reading = reading;
    const command = {
      command: this.setting("command", ["python3", "-m", "seismo"]).map((word) => this.inFolder(word)),
      options: this.setting<string[]>("options", []),
      recording: file,
      folder: path.dirname(file),
    };
    try {
      const gutter = await read(command, reading.signal, this.begin);
      if (!reading.signal.aborted) {
        this.gutter = gutter;
        this.tell(status(gutter, path.basename(file)));
        this.draw();
      }
    } catch (error) {
      if (!reading.signal.aborted) {
        this.gutter = undefined; // what is no longer true is not shown
        this.draw();
        this.fail(error, quietly);
      }
    }
  }

  /** Reads the recording again when it changes; once it has been quiet. */
  private watch(file: string): void {
    this.watcher?.dispose();
    const pattern = new vscode.RelativePattern(vscode.Uri.file(path.dirname(file)), path.basename(file));
    const watcher = vscode.workspace.createFileSystemWatcher(pattern);
    const again = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.recording === file && !this.hidden && void this.open(file, true), SETTLED);
    };
    watcher.onDidChange(again);
    watcher.onDidCreate(again);
    watcher.onDidDelete(() => {
      this.gutter = undefined;
      this.draw();
      this.fail(new Problem("the recording is gone", file), true);
    });
    this.watcher = watcher;
  }

  private async recordings(): Promise<string[]> {
    const found = await vscode.workspace.findFiles("**/*.seismo", "**/{node_modules,.git}/**", 1000);
    const dated = await Promise.all(
      found.map(async (uri) => ({ file: uri.fsPath, time: (await vscode.workspace.fs.stat(uri)).mtime })),
    );
    return dated.sort((one, other) => other.time - one.time).map(({ file }) => file);
  }

  private async newest(): Promise<string | undefined> {
    return (await this.recordings())[0];
  }

  private folder(): string {
    return vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  }

  private inFolder(word: string): string {
    return word.replaceAll("${workspaceFolder}", this.folder());
  }

  private setting<T>(name: string, usual: T): T {
    return vscode.workspace.getConfiguration("seismo").get<T>(name, usual);
  }

  private tell({ text, tooltip }: { text: string; tooltip: string }): void {
    this.bar.text = plain(text);
    this.bar.tooltip = tooltip; // a string: no Markdown
    this.bar.show();
  }

  /** Says what went wrong: in the status bar, and where the user has asked for something, in a message. */
  private fail(error: unknown, quietly = false): void {
    const problem = error instanceof Problem ? error : new Problem(`seismo: ${String(error)}`);
    this.tell({ text: "seismo: no numbers", tooltip: [problem.message, problem.hint].filter(Boolean).join("\n") });
    if (!quietly) {
      void vscode.window.showWarningMessage(`seismo: ${[problem.message, problem.hint].filter(Boolean).join(". ")}`);
    }
  }

  /** Draws all visible editors, or those of one document. */
  private draw(document?: vscode.TextDocument): void {
    for (const editor of vscode.window.visibleTextEditors) {
      if (!document || editor.document === document) {
        this.drawOne(editor);
      }
    }
  }

  private drawOne(editor: vscode.TextEditor): void {
    const { document } = editor;
    const there = document.uri.scheme === "file" && this.gutter && !this.hidden;
    const file =
      there && this.gutter ? fileFor(this.gutter, document.uri.fsPath, (one) => this.realPath(one)) : undefined;
    const { marks, problem } = decide(file, document.lineCount, this.setting("least", 0.001), document.isDirty);
    const ranges = (fits: (mark: Mark) => boolean) => marks.filter(fits).map(({ line }) => whole(document, line));
    this.heat.forEach((type, at) => {
      editor.setDecorations(
        type,
        ranges((mark) => mark.step === at + 1),
      );
    });
    for (const [state, type] of Object.entries(this.states)) {
      editor.setDecorations(
        type,
        ranges((mark) => mark.state === state),
      );
    }
    editor.setDecorations(
      this.words,
      marks.map((mark) => ({
        range: whole(document, mark.line),
        hoverMessage: hoverOf(problem ? `${problem}\n\n${mark.hover}` : mark.hover),
        renderOptions: {
          after: {
            contentText: problem && mark.words ? `(?) ${mark.words}` : mark.words,
            color: new vscode.ThemeColor("editorCodeLens.foreground"),
          },
        },
      })),
    );
  }

  /** Where a path leads: the recorded program may have come by another one. */
  private realPath(file: string): string {
    let real = this.real.get(file);
    if (real === undefined) {
      try {
        real = realpathSync(file);
      } catch {
        real = file;
      }
      this.real.set(file, real);
    }
    return real;
  }

  dispose(): void {
    this.reading?.abort();
    clearTimeout(this.timer);
    this.watcher?.dispose();
    for (const one of this.all) {
      one.dispose();
    }
  }
}

/** A background that is so much of the heat. */
function shade(step: number): string {
  return `rgba(255, 106, 0, ${((0.35 * step) / STEPS).toFixed(3)})`;
}

function whole(document: vscode.TextDocument, line: number): vscode.Range {
  return document.lineAt(line).range;
}

/** A hover that shows text as it is: a code block, which nothing in it can end, without trust, HTML or icons. */
export function hoverOf(text: string): vscode.MarkdownString {
  const shown = new vscode.MarkdownString();
  shown.isTrusted = false;
  shown.supportHtml = false;
  shown.supportThemeIcons = false;
  const runs = text.match(/`+/g) ?? [];
  const fence = "`".repeat(Math.max(3, 1 + Math.max(0, ...runs.map((run) => run.length))));
  shown.value = `${fence}text\n${text}\n${fence}`;
  return shown;
}

export async function activate(context: vscode.ExtensionContext): Promise<Seismo> {
  const seismo = new Seismo();
  context.subscriptions.push(seismo);
  await seismo.show(true);
  return seismo;
}

export function deactivate(): void {}
