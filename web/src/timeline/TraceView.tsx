/** One trace: tools, the timeline, and details of the chosen call or range. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { isDark, useTheme } from "../chrome/keys.ts";
import { search } from "../data/search.ts";
import { count, duration } from "../data/words.ts";
import { DARK, LIGHT } from "./colours.ts";
import type { Gap, Instant } from "./events.ts";
import { Help } from "./Help.tsx";
import { Legend } from "./Legend.tsx";
import type { Pointed } from "./marks.ts";
import { CallPanel, RangePanel } from "./Panels.tsx";
import { cut, type Spot } from "./scene.ts";
import { nameOf as fullName, type TraceSource } from "./source.ts";
import { Timeline, UNWRITTEN_NS } from "./timeline.ts";
import { moment, type Viewport } from "./viewport.ts";

const MOST_NAMED = 3000;
const LOOK_MS = 1000;
const DENSITY = 1000; // columns of the minimap

/** Reads the program's events stretch by stretch, and those of a recording that grows as they come. */
class EventReader {
  private instants: Instant[] = [];
  private gaps = new Map<string, Gap>();
  private left = 0;
  private to: number;
  private busy = false;
  gone = false;

  constructor(
    private readonly source: TraceSource,
    private readonly line: Timeline,
    private readonly report: (text: string) => void,
  ) {
    this.to = source.info.from;
  }

  /** Requests new events, and the latest ones again, since threads do not write at the same time. */
  async more(steps: number): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    try {
      const from = Math.max(this.source.info.from, this.to - UNWRITTEN_NS);
      const end = this.source.info.to + 1;
      const step = (end - from) / steps;
      for (let at = 0; at < steps && !this.gone; at++) {
        const last = at === steps - 1;
        await this.stretch(Math.floor(from + at * step), last ? end : Math.floor(from + (at + 1) * step));
      }
      this.to = end;
      if (this.left > 0) this.report(`${count(this.left)} marks more are not drawn`);
    } finally {
      this.busy = false;
    }
  }

  private async stretch(from: number, to: number): Promise<void> {
    const found = await this.source.events(from, to);
    if (this.gone) return;
    const known = this.instants.length;
    this.instants = this.instants.filter((one) => one.time < from || one.time >= to);
    if (!known && found.instants.length === 0 && found.gaps.length === 0) return;
    this.instants.push(...found.instants);
    for (const gap of found.gaps) this.gaps.set(`${gap.thread} ${gap.start}`, gap);
    this.left += found.left;
    this.line.showEvents({ instants: this.instants, gaps: [...this.gaps.values()], left: this.left });
  }
}

interface Props {
  readonly source: TraceSource;
  readonly live?: boolean;
  readonly open?: (from: number, to: number) => void;
  /** Return the source of a function. */
  readonly code?: (fn: number) => ComponentChildren;
}

export function TraceView({ source, live = false, open, code }: Props) {
  const { info } = source;
  const canvas = useRef<HTMLCanvasElement>(null);
  const stage = useRef<HTMLDivElement>(null);
  const map = useRef<HTMLCanvasElement>(null);
  const field = useRef<HTMLInputElement>(null);
  const timeline = useRef<Timeline | null>(null);
  useTheme();
  const theme = isDark() ? DARK : LIGHT;
  const [chosen, setChosen] = useState<{ spot: Spot | null; range: { from: number; to: number } | null }>({
    spot: null,
    range: null,
  });
  const [hover, setHover] = useState<{ what: Spot | Pointed; x: number; y: number } | null>(null);
  const [sight, setSight] = useState({ from: info.from, to: info.to });
  const [message, setMessage] = useState("");
  const [text, setText] = useState("");
  const [help, setHelp] = useState(false);
  const [, setGrown] = useState(0);
  const looking = useRef(0);

  useEffect(() => {
    if (!canvas.current || !map.current) return;
    const line = new Timeline(canvas.current, map.current, source, theme, {
      chosen: (spot, range) => setChosen({ spot, range }),
      over: (what, x, y) => setHover(what && { what, x, y }),
      moved: (view: Viewport) => setSight({ from: view.from, to: view.to }),
    });
    timeline.current = line;
    const failed = (error: Error) => setMessage(error.message);
    const measure = () => {
      const { from, to } = source.info;
      source.density(DENSITY).then((calls) => {
        line.density = { calls, from, to };
        line.refresh();
      }, failed);
    };
    measure();
    if (window.parent === window) stage.current?.focus({ preventScroll: true }); // a notebook keeps the focus
    const reader = new EventReader(source, line, setMessage);
    reader.more(source.steps).catch(failed);
    let looking = false;
    const look = async () => {
      if (looking) return;
      looking = true;
      const growth = await source.grown?.().finally(() => {
        looking = false;
      });
      if (!growth || reader.gone) return;
      line.grown(growth);
      setGrown((times) => times + 1);
      measure();
      await reader.more(1);
    };
    const timer = live ? setInterval(() => void look().catch(failed), LOOK_MS) : undefined;
    return () => {
      clearInterval(timer);
      reader.gone = true;
      line.end();
    };
  }, [source, live]);

  useEffect(() => timeline.current?.setTheme(theme), [theme]);

  const nameOf = (fn: number) => fullName(info, fn);
  const found = useMemo(() => search(text, info.names.length, nameOf), [text, info]);
  const { matches } = found;
  const named = useMemo(() => (matches ? Array.from(matches.keys()).filter((fn) => matches[fn]) : []), [matches]);
  useEffect(() => {
    const line = timeline.current;
    if (!line) return;
    line.matches = matches && ((fn) => matches[fn] === 1);
    line.refresh();
  }, [matches]);

  const find = async (back: boolean): Promise<void> => {
    const line = timeline.current;
    if (!line || !matches) return field.current?.focus();
    if (named.length === 0) return setMessage("no function has such a name");
    if (named.length > MOST_NAMED) return setMessage("too many functions have such a name: write more of it");
    const run = ++looking.current;
    let at = line.selected?.start ?? (back ? line.view.to : line.view.from);
    for (;;) {
      const found = await source.find(named, at, back).catch((error: Error) => setMessage(error.message));
      if (run !== looking.current || !found) return;
      if (found.row) {
        setMessage("");
        line.choose(found.row);
        line.reveal(found.row);
        return;
      }
      if (found.done) return setMessage(back ? "no call before this one" : "no call after this one");
      at = found.to;
      setMessage(`looked up to ${moment(at, 1e6)} …`);
    }
  };

  const keys = (event: KeyboardEvent) => {
    if (help) return; // the dialog has its own
    const typing = event.target instanceof HTMLInputElement;
    timeline.current?.unhover(); // another call may be below the pointer now
    if (event.key === "Escape" && typing) {
      setText("");
      looking.current++;
      stage.current?.focus();
    } else if (event.key === "Enter" && typing) void find(event.shiftKey);
    else if (typing) return;
    else if (event.key === "/") field.current?.focus();
    else if (event.key === "?") setHelp(true);
    else if (event.key.toLowerCase() === "m") {
      const mark = timeline.current?.toMark(event.shiftKey);
      const text = mark?.text ? `: ${cut(mark.text, 200)}` : "";
      setMessage(mark ? `${cut(mark.name, 100)} at ${moment(mark.time, 1e3)}${text}` : "no mark there");
    } else if (event.key === "n" || event.key === "p") void find(event.key === "p");
    else {
      timeline.current?.key(event);
      return;
    }
    event.preventDefault();
  };

  const step = (sight.to - sight.from) / 1000;
  return (
    <section class="trace" onKeyDown={keys} aria-label="Timeline">
      <div class="tools">
        <button type="button" title="zoom in (w)" onClick={() => timeline.current?.zoom(0.6)}>
          +
        </button>
        <button type="button" title="zoom out (s)" onClick={() => timeline.current?.zoom(1 / 0.6)}>
          −
        </button>
        <button type="button" title="show everything (f)" onClick={() => timeline.current?.whole()}>
          All
        </button>
        <label class="search">
          <span class="hidden">Find calls</span>
          <input
            ref={field}
            type="search"
            placeholder="Find calls (regular expression)   /"
            value={text}
            spellcheck={false}
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </label>
        {matches && (
          <>
            <button type="button" title="the one before (p)" onClick={() => void find(true)}>
              ↑
            </button>
            <button type="button" title="the next one (n)" onClick={() => void find(false)}>
              ↓
            </button>
            <span class="quiet">
              {count(named.length)} function{named.length === 1 ? "" : "s"}
            </span>
          </>
        )}
        <span class="quiet" role="status">
          {found.problem || message}
        </span>
        <span class="sight">
          {moment(sight.from, step)} – {moment(sight.to, step)} · {duration(sight.to - sight.from)}
        </span>
        <button type="button" title="what the keys do (?)" onClick={() => setHelp(true)}>
          ?
        </button>
      </div>
      <div class="map">
        <canvas ref={map} />
      </div>
      <div
        class="canvas"
        ref={stage}
        role="application"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it takes the keys of the timeline
        tabIndex={0}
        aria-label="Calls of each thread over time. W, A, S and D move; Enter chooses a call, arrow keys step from call to call."
      >
        <canvas ref={canvas} />
        {hover && <Tip what={hover.what} x={hover.x} y={hover.y} nameOf={nameOf} />}
      </div>
      <Legend theme={theme} />
      {chosen.spot && (
        <CallPanel spot={chosen.spot} info={info} nameOf={nameOf}>
          {code?.(chosen.spot.fn)}
        </CallPanel>
      )}
      {chosen.range && (
        <RangePanel
          source={source}
          open={open}
          range={chosen.range}
          nameOf={nameOf}
          close={() => timeline.current?.choose(null)}
        />
      )}
      {help && <Help close={() => setHelp(false)} />}
    </section>
  );
}

/** Return a call or an event as two lines. */
function lines(what: Spot | Pointed, nameOf: (fn: number) => string): [string, string] {
  if ("what" in what) {
    const long = what.to > what.from ? duration(what.to - what.from) : "";
    return [what.what, [long, `at ${moment(what.from, 1e3)}`, what.text].filter(Boolean).join("; ")];
  }
  if (what.calls > 1) {
    const took = `${count(what.calls)} calls in ${duration(what.end - what.start)}`;
    return [nameOf(what.fn), `and others: ${took}, running for ${duration(what.busy)}`];
  }
  const error = what.bound > 0 ? ` ±${duration(what.bound)}` : "";
  return [nameOf(what.fn), `${duration(what.end - what.start)}${error}`];
}

interface TipProps {
  what: Spot | Pointed;
  x: number;
  y: number;
  nameOf: (fn: number) => string;
}

function Tip({ what, x, y, nameOf }: TipProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const box = place.current;
    if (!box?.parentElement) return;
    const right = box.parentElement.clientWidth - box.offsetWidth - 8;
    const low = box.parentElement.clientHeight - box.offsetHeight - 8;
    box.style.left = `${Math.max(4, Math.min(x + 14, right))}px`;
    box.style.top = `${Math.max(4, Math.min(y + 18, low))}px`;
  });
  const [name, rest] = lines(what, nameOf);
  return (
    <div class="tip" ref={place} role="tooltip">
      <b>{cut(name, 200)}</b>
      <span>{cut(rest, 400)}</span>
    </div>
  );
}
