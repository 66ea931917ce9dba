// A stub of the editor: what the extension uses of it, and what it did with that, for the tests to look at.

type Listener<T> = (value: T) => unknown;

class Event_<T> {
  private readonly listeners = new Set<Listener<T>>();
  readonly on = (listener: Listener<T>) => {
    this.listeners.add(listener);
    return { dispose: () => this.listeners.delete(listener) };
  };
  fire(value: T): void {
    for (const listener of [...this.listeners]) {
      listener(value);
    }
  }
  get size(): number {
    return this.listeners.size;
  }
}

export class Range {
  constructor(
    readonly line: number,
    readonly length: number,
  ) {}
}

export class ThemeColor {
  constructor(readonly id: string) {}
}

export class MarkdownString {
  value = "";
  isTrusted: boolean | undefined;
  supportHtml: boolean | undefined;
  supportThemeIcons: boolean | undefined;
}

export class RelativePattern {
  constructor(
    readonly base: unknown,
    readonly pattern: string,
  ) {}
}

export const Uri = { file: (fsPath: string) => ({ scheme: "file", fsPath }) };
export const StatusBarAlignment = { Left: 1, Right: 2 };
export const OverviewRulerLane = { Left: 1, Center: 2, Right: 4, Full: 7 };

export class Document {
  isDirty = false;
  readonly uri: { scheme: string; fsPath: string };
  constructor(
    path: string,
    public lines: string[],
    scheme = "file",
  ) {
    this.uri = { scheme, fsPath: path };
  }
  get lineCount(): number {
    return this.lines.length;
  }
  lineAt(line: number): { range: Range } {
    const text = this.lines[line];
    if (text === undefined) {
      throw new RangeError(`there is no line ${line}`);
    }
    return { range: new Range(line, text.length) };
  }
}

export interface Decoration {
  range: Range;
  hoverMessage?: MarkdownString;
  renderOptions?: { after: { contentText: string } };
}

export class Editor {
  readonly decorations = new Map<unknown, (Range | Decoration)[]>();
  constructor(readonly document: Document) {}
  setDecorations(type: unknown, ranges: (Range | Decoration)[]): void {
    this.decorations.set(type, ranges);
  }
  /** What stands beside the lines, by line from 1. */
  words(): Record<number, string> {
    const found: Record<number, string> = {};
    for (const one of [...this.decorations.values()].flat()) {
      if ("range" in one && one.renderOptions) {
        found[one.range.line + 1] = one.renderOptions.after.contentText;
      }
    }
    return found;
  }
  hover(line: number): MarkdownString | undefined {
    const all = [...this.decorations.values()].flat();
    const found = all.find((one) => "range" in one && one.range.line === line - 1);
    return found && "range" in found ? found.hoverMessage : undefined;
  }
  /** The lines that have a background or an edge, from 1. */
  coloured(): number[] {
    const ranges = [...this.decorations.values()].flat().filter((one): one is Range => one instanceof Range);
    return ranges.map((one) => one.line + 1).sort((one, other) => one - other);
  }
}

const events = {
  editors: new Event_<unknown>(),
  changed: new Event_<{ document: Document }>(),
  saved: new Event_<Document>(),
  settings: new Event_<{ affectsConfiguration: (name: string) => boolean }>(),
  trust: new Event_<void>(),
};

export interface Watcher {
  pattern: RelativePattern;
  changed: Event_<void>;
  created: Event_<void>;
  deleted: Event_<void>;
  disposed: boolean;
}

/** What the tests set and see. */
export const stub = {
  events,
  settings: {} as Record<string, unknown>,
  folder: "/app",
  files: [] as { path: string; mtime: number }[],
  messages: [] as string[],
  picks: [] as { label: string; description: string; file: string }[][],
  pick: 0,
  commands: new Map<string, () => unknown>(),
  watchers: [] as Watcher[],
  bars: [] as { text: string; tooltip: unknown; shown: boolean; disposed: boolean }[],
  types: [] as { options: Record<string, unknown>; disposed: boolean }[],
  reset(): void {
    Object.assign(stub, {
      settings: {},
      files: [],
      messages: [],
      picks: [],
      pick: 0,
      watchers: [],
      bars: [],
      types: [],
    });
    stub.commands.clear();
    window.visibleTextEditors = [];
    workspace.isTrusted = true;
  },
  listeners: () => Object.values(events).reduce((sum, event) => sum + event.size, 0),
};

export const window = {
  visibleTextEditors: [] as Editor[],
  createStatusBarItem() {
    const bar = {
      text: "",
      tooltip: undefined as unknown,
      shown: false,
      disposed: false,
      show: () => Object.assign(bar, { shown: true }),
      hide: () => Object.assign(bar, { shown: false }),
      dispose: () => Object.assign(bar, { disposed: true }),
    };
    stub.bars.push(bar);
    return bar;
  },
  createTextEditorDecorationType(options: Record<string, unknown>) {
    const type = { options, disposed: false, dispose: () => Object.assign(type, { disposed: true }) };
    stub.types.push(type);
    return type;
  },
  onDidChangeVisibleTextEditors: events.editors.on,
  async showQuickPick(items: { label: string; description: string; file: string }[]) {
    stub.picks.push(items);
    return items[stub.pick];
  },
  async showWarningMessage(message: string) {
    stub.messages.push(message);
  },
};

export const workspace = {
  isTrusted: true,
  get workspaceFolders() {
    return stub.folder ? [{ uri: Uri.file(stub.folder) }] : undefined;
  },
  getConfiguration: () => ({ get: (name: string, usual: unknown) => stub.settings[name] ?? usual }),
  onDidChangeTextDocument: events.changed.on,
  onDidSaveTextDocument: events.saved.on,
  onDidChangeConfiguration: events.settings.on,
  onDidGrantWorkspaceTrust: events.trust.on,
  findFiles: async () => stub.files.map(({ path }) => Uri.file(path)),
  fs: {
    stat: async ({ fsPath }: { fsPath: string }) => ({
      mtime: stub.files.find(({ path }) => path === fsPath)?.mtime ?? 0,
    }),
  },
  createFileSystemWatcher(pattern: RelativePattern) {
    const watcher = {
      pattern,
      changed: new Event_<void>(),
      created: new Event_<void>(),
      deleted: new Event_<void>(),
      disposed: false,
    };
    stub.watchers.push(watcher);
    return {
      onDidChange: watcher.changed.on,
      onDidCreate: watcher.created.on,
      onDidDelete: watcher.deleted.on,
      dispose: () => Object.assign(watcher, { disposed: true }),
    };
  },
};

export const commands = {
  registerCommand(name: string, run: () => unknown) {
    stub.commands.set(name, run);
    return { dispose: () => stub.commands.delete(name) };
  },
};
